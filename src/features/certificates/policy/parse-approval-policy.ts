import { parse } from "yaml";
import { parseIpRange, type IpRange } from "../../../pki/ip-address.ts";
import {
  defaultKeys,
  defaultMaximumLifetimeSeconds,
  type ApprovalPolicy,
  type ApprovalRule,
  type KeyRequirement,
} from "./approval-policy.ts";
import { namePattern, type NamePattern } from "./name-pattern.ts";
import { certificateUsagesOf } from "../signers/usages.ts";

export type ParsedPolicy =
  | { readonly isValid: true; readonly policy: ApprovalPolicy }
  | { readonly isValid: false; readonly faults: readonly string[] };

const maximumPolicyLength = 1024 * 1024;

/**
 * Reads the file of `--approval-policy`. Nothing is guessed: unknown fields, wrong types and patterns that cannot work are
 * faults, and all of them are returned, each with its path.
 */
export function parseApprovalPolicy(text: string): ParsedPolicy {
  if (text.length > maximumPolicyLength) return { isValid: false, faults: ["the policy is larger than 1 MiB"] };
  let document: unknown;
  try {
    document = parse(text, { maxAliasCount: 0, prettyErrors: true });
  } catch (error) {
    return { isValid: false, faults: [error instanceof Error ? error.message : "not YAML"] };
  }
  const faults: string[] = [];
  const root = new Fields(document, { path: "", faults });
  const rules = root.list("rules", (value, path) => parseRule(value, { path, faults })) ?? [];
  root.refuseOthers();
  if (rules.length === 0 && faults.length === 0) faults.push("rules: at least one rule is required");
  const names = rules.map(({ name }) => name);
  for (const name of new Set(names.filter((one, index) => names.indexOf(one) !== index))) {
    faults.push(`rules: the name ${JSON.stringify(name)} is used twice`);
  }
  return faults.length > 0 ? { isValid: false, faults } : { isValid: true, policy: { rules } };
}

interface Place {
  readonly path: string;
  readonly faults: string[];
}

function parseRule(value: unknown, place: Place): ApprovalRule {
  const rule = new Fields(value, place);
  const name = rule.text("name") ?? "";
  if (!/^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/.test(name)) {
    rule.fault("name", "must be 1 to 63 letters, digits, dots, dashes or underscores");
  }
  const action = rule.text("action");
  if (action !== "approve" && action !== "deny") rule.fault("action", 'must be "approve" or "deny"');
  const match = rule.fields("match");
  const signers = match.texts("signers");
  if (signers === undefined || signers.length === 0) match.fault("signers", "at least one signer is required");
  const users = match.patterns("users", "");
  const groups = match.patterns("groups", "");
  match.refuseOthers();
  if (action === "deny" && rule.has("require")) rule.fault("require", "makes no sense in a rule that denies");
  const require = parseRequirements(rule.fields("require"));
  rule.refuseOthers();
  return {
    name,
    action: action === "deny" ? "deny" : "approve",
    match: { signers: signers ?? [], users, groups },
    require,
  };
}

function parseRequirements(fields: Fields): ApprovalRule["require"] {
  const usages = fields.texts("usages");
  const unrecognized = certificateUsagesOf(usages ?? []).unrecognized;
  if (unrecognized.length > 0) fields.fault("usages", `unknown: ${unrecognized.join(", ")}`);
  const requirements = {
    commonNames: fields.patterns("commonNames", ""),
    organizations: fields.patterns("organizations", ""),
    dnsNames: fields.patterns("dnsNames", "."),
    ipRanges: fields.list("ipRanges", (value, path) => fields.ipRange(value, path)),
    emailAddresses: fields.patterns("emailAddresses", "@"),
    uris: fields.patterns("uris", "/"),
    namesBelongToNode: fields.flag("namesBelongToNode"),
    usages,
    keys: fields.list("keys", (value, path) => parseKey(value, { path, faults: fields.faults })) ?? defaultKeys,
    maximumLifetimeSeconds: fields.positiveInteger("maximumLifetimeSeconds") ?? defaultMaximumLifetimeSeconds,
  };
  if (requirements.namesBelongToNode && !fields.has("dnsNames") && !fields.has("ipRanges")) {
    fields.fault(
      "namesBelongToNode",
      "a node reports its names itself, so it could get any name: add dnsNames, ipRanges or both, with the names that nodes may have",
    );
  }
  fields.refuseOthers();
  return requirements;
}

function parseKey(value: unknown, place: Place): KeyRequirement {
  const key = new Fields(value, place);
  const type = key.text("type");
  const minimumBits = key.positiveInteger("minimumBits");
  key.refuseOthers();
  const known = defaultKeys.find((one) => one.type === type);
  if (known === undefined) key.fault("type", 'must be "RSA", "ECDSA" or "Ed25519"');
  const { type: keyType, minimumBits: defaultBits } = known ?? { type: "RSA", minimumBits: 2048 };
  return { type: keyType, minimumBits: minimumBits ?? defaultBits };
}

/** The fields of one mapping; each is asked for by its type, and what was not asked for is a fault. */
class Fields {
  readonly faults: string[];
  readonly #path: string;
  readonly #values: ReadonlyMap<string, unknown>;
  readonly #known = new Set<string>();

  constructor(value: unknown, { path, faults }: Place) {
    this.#path = path;
    this.faults = faults;
    const isMapping = typeof value === "object" && value !== null && !Array.isArray(value);
    if (!isMapping && value !== undefined) faults.push(`${path || "the policy"}: must be a mapping`);
    this.#values = new Map(isMapping ? Object.entries(value) : []);
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  fault(name: string, message: string): void {
    this.faults.push(`${this.#pathOf(name)}: ${message}`);
  }

  fields(name: string): Fields {
    return new Fields(this.#take(name), { path: this.#pathOf(name), faults: this.faults });
  }

  text(name: string): string | undefined {
    const value = this.#take(name);
    if (value === undefined || typeof value === "string") return value;
    this.fault(name, "must be a string");
    return undefined;
  }

  flag(name: string): boolean {
    const value = this.#take(name);
    if (value !== undefined && typeof value !== "boolean") this.fault(name, "must be true or false");
    return value === true;
  }

  positiveInteger(name: string): number | undefined {
    const value = this.#take(name);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return value;
    this.fault(name, "must be a positive whole number");
    return undefined;
  }

  list<T>(name: string, parseOne: (value: unknown, path: string) => T | undefined): T[] | undefined {
    const value = this.#take(name);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) {
      this.fault(name, "must be a list");
      return undefined;
    }
    return value
      .map((one: unknown, index) => parseOne(one, `${this.#pathOf(name)}[${index}]`))
      .filter((one) => one !== undefined);
  }

  texts(name: string): string[] | undefined {
    return this.list(name, (value, path) => {
      if (typeof value === "string" && value !== "") return value;
      this.faults.push(`${path}: must be a string that is not empty`);
      return undefined;
    });
  }

  patterns(name: string, separator: "." | "/" | "@" | ""): NamePattern[] | undefined {
    return this.list(name, (value, path) => {
      const text = separator === "." && typeof value === "string" ? value.toLowerCase() : value;
      const pattern = typeof text === "string" ? namePattern(text, separator) : { fault: "must be a string" };
      if (!("fault" in pattern)) return pattern;
      this.faults.push(`${path}: ${pattern.fault}`);
      return undefined;
    });
  }

  ipRange(value: unknown, path: string): IpRange | undefined {
    const range = typeof value === "string" ? parseIpRange(value) : undefined;
    if (range === undefined) this.faults.push(`${path}: must be an IP address or a range such as 10.0.0.0/8`);
    return range;
  }

  refuseOthers(): void {
    for (const name of this.#values.keys()) if (!this.#known.has(name)) this.fault(name, "unknown field");
  }

  #take(name: string): unknown {
    this.#known.add(name);
    return this.#values.get(name);
  }

  #pathOf(name: string): string {
    return this.#path === "" ? name : `${this.#path}.${name}`;
  }
}
