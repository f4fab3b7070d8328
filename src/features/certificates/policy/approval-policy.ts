import type { CertificateRequest } from "../../../pki/requests/certificate-request.ts";
import type { IpRange } from "../../../pki/names/ip-address.ts";
import { minimumRsaBits } from "../../../pki/keys/public-key.ts";
import { PatternFields } from "./name-pattern.ts";
import type { NamePattern } from "./name-pattern.ts";
import { parseYamlSettings } from "../../../machinery/command-line/settings/parse-yaml-settings.ts";
import { refuseFaults } from "../../../machinery/command-line/settings/fields.ts";
import type { FieldContext } from "../../../machinery/command-line/settings/fields.ts";
import { certificateUsagesOf } from "../signers/usages.ts";
import type { FollowedFiles } from "../../../machinery/files/followed/followed-files.ts";
import { parseSettingsFile, readFollowedFile } from "../../../machinery/command-line/settings/settings-files.ts";

/** The rules by which requests are approved or denied automatically. The first rule that matches a request decides. */
export interface ApprovalPolicy {
  readonly rules: readonly ApprovalRule[];
}

interface ApprovalRule {
  /** Unique. The conditions of decided requests contain it. */
  readonly name: string;
  readonly match: RequestMatch;
  /**
   * `deny` denies every matching request. `approve` approves requests that meet the requirements, and denies the rest.
   */
  readonly action: "approve" | "deny";
  readonly require: RequestRequirements;
}

/** Selects the requests that a rule decides. Every list that is set must have a match. */
interface RequestMatch {
  /** Exact signer names; a rule names at least one. */
  readonly signers: readonly string[];
  readonly users: readonly NamePattern[] | undefined;
  readonly groups: readonly NamePattern[] | undefined;
}

/** The requirements for a request. Omitted fields have strict defaults: see each field. */
export interface RequestRequirements {
  /** Omitted: the common name must be the requester's user name. The empty text allows a request without one. */
  readonly commonNames: readonly NamePattern[] | undefined;
  /** Omitted: every organization must be one of the requester's groups. */
  readonly organizations: readonly NamePattern[] | undefined;
  /** Omitted: no such names are allowed. */
  readonly dnsNames: readonly NamePattern[] | undefined;
  readonly ipRanges: readonly IpRange[] | undefined;
  readonly emailAddresses: readonly NamePattern[] | undefined;
  readonly uris: readonly NamePattern[] | undefined;
  /**
   * DNS names and IP addresses must be among the names and addresses of the requesting node's Node object. The node
   * reports these itself, so `dnsNames`, `ipRanges` or both are required too. Without `dnsNames`, only the Node's own
   * name is allowed.
   */
  readonly namesBelongToNode: boolean;
  /** Omitted: every usage that the signer accepts, except `any`, `cert sign`, `crl sign` and `ocsp signing`. */
  readonly usages: readonly string[] | undefined;
  readonly keys: readonly KeyRequirement[];
  readonly maximumLifetimeSeconds: number;
}

interface KeyRequirement {
  readonly type: "RSA" | "ECDSA" | "Ed25519";
  readonly minimumBits: number;
}

/** The signer and the requester of a stored request. */
export interface RequestIdentity {
  readonly signerName: string;
  readonly username: string;
  readonly groups: readonly string[];
}

/** The attributes of a stored request that a policy checks. */
export interface ApprovalInput extends RequestIdentity {
  readonly usages: readonly string[];
  readonly request: CertificateRequest;
  /** The lifetime of the certificate in seconds: the requested one, within the signer's limits. */
  readonly lifetimeSeconds: number;
}

/** A requirement that a request does not meet: the field of the rule, and what is wrong. */
export interface FailedRequirement {
  readonly field: keyof RequestRequirements | "subject" | "serverNames" | "extensions" | "request";
  readonly message: string;
}

/** The maximum lifetime when a rule sets none: one day. */
const defaultMaximumLifetimeSeconds = 86_400;

/** The allowed keys when a rule sets none. */
const defaultKeys: readonly KeyRequirement[] = [
  { type: "ECDSA", minimumBits: 256 },
  { type: "RSA", minimumBits: minimumRsaBits },
  { type: "Ed25519", minimumBits: 256 },
];

/**
 * Reads the file of `--approval-policy`. Parsing is strict: unknown fields, wrong types and invalid patterns are
 * faults. Throws InvalidSettings with the faults, or an Error for what is not YAML.
 */
export function parseApprovalPolicy(text: string): ApprovalPolicy {
  const faults: string[] = [];
  const root = new PatternFields(parseYamlSettings(text), { path: "", faults });
  const rules = root.list("rules", (value, path) => parseRule(value, { path, faults })) ?? [];
  root.refuseOthers();
  if (rules.length === 0 && faults.length === 0) faults.push("rules: at least one rule is required");
  root.refuseSameNames("rules", rules);
  refuseFaults(faults);
  return { rules };
}

function parseRule(value: unknown, context: FieldContext): ApprovalRule {
  const rule = new PatternFields(value, context);
  const name = rule.text("name") ?? "";
  if (!/^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/.test(name)) {
    rule.fault("name", "must be 1 to 63 letters, digits, dots, dashes or underscores");
  }
  const action = rule.text("action");
  if (action !== "approve" && action !== "deny") rule.fault("action", 'must be "approve" or "deny"');
  const match = rule.fields("match");
  const signers = match.texts("signers");
  if (signers === undefined || signers.length === 0) match.fault("signers", "at least one signer is required");
  const users = match.patterns("users", { separator: "" });
  const groups = match.patterns("groups", { separator: "" });
  match.refuseOthers();
  if (action === "deny" && rule.has("require")) rule.fault("require", "is not allowed in a rule with action deny");
  const require = parseRequirements(rule.fields("require"));
  rule.refuseOthers();
  return {
    name,
    action: action === "deny" ? "deny" : "approve",
    match: { signers: signers ?? [], users, groups },
    require,
  };
}

function parseRequirements(fields: PatternFields): ApprovalRule["require"] {
  const usages = fields.texts("usages");
  const unrecognized = certificateUsagesOf(usages ?? []).unrecognized;
  if (unrecognized.length > 0) fields.fault("usages", `unknown: ${unrecognized.join(", ")}`);
  const requirements = {
    commonNames: fields.patterns("commonNames", { separator: "", mayBeEmpty: true }),
    organizations: fields.patterns("organizations", { separator: "", mayBeEmpty: true }),
    dnsNames: fields.patterns("dnsNames", { separator: "." }),
    ipRanges: fields.list("ipRanges", (value, path) => fields.ipRange(value, path)),
    emailAddresses: fields.patterns("emailAddresses", { separator: "@" }),
    uris: fields.patterns("uris", { separator: "/" }),
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

function parseKey(value: unknown, context: FieldContext): KeyRequirement {
  const key = new PatternFields(value, context);
  const type = key.text("type");
  const minimumBits = key.positiveInteger("minimumBits");
  key.refuseOthers();
  const known = defaultKeys.find((one) => one.type === type);
  if (known === undefined) key.fault("type", 'must be "RSA", "ECDSA" or "Ed25519"');
  const { type: keyType, minimumBits: defaultBits } = known ?? { type: "RSA", minimumBits: minimumRsaBits };
  return { type: keyType, minimumBits: minimumBits ?? defaultBits };
}

/**
 * Returns the current rules of the file of `--approval-policy`. Undefined without the flag. Throws UsageError for a
 * file that is invalid at the start. When it becomes invalid later, the old rules stay in force.
 */
export function openApprovalPolicy(
  file: string | undefined,
  followed: FollowedFiles,
): (() => ApprovalPolicy) | undefined {
  if (file === undefined) return undefined;
  return followed.follow({
    setting: "approval-policy",
    files: () => [file],
    load: () => parseSettingsFile({ flag: "approval-policy", file, read: readFollowedFile }, parseApprovalPolicy),
    describe: ({ rules }) => ({ rules: rules.length }),
  });
}
