import { parseYamlSettings } from "../../../machinery/command-line/settings/parse-yaml-settings.ts";
import { isPkcs11Uri } from "../../../machinery/pkcs11/pkcs11-uri.ts";
import { dirname, resolve } from "node:path";
import { parseDuration } from "../../../machinery/api/duration.ts";
import { maximumCommonNameLength } from "../../../pki/names/distinguished-name.ts";
import { dnsNameFault } from "../../../pki/names/dns-name.ts";
import { keyTypes } from "../../../pki/keys/keys.ts";
import type { KeyType } from "../../../pki/keys/keys.ts";
import { PatternFields } from "../policy/name-pattern.ts";
import { refuseFaults } from "../../../machinery/command-line/settings/fields.ts";
import type { FieldContext } from "../../../machinery/command-line/settings/fields.ts";
import { isWithinDomain } from "../../../machinery/api/addresses/is-within-domain.ts";
import { signerDomain } from "../signer-names.ts";
import { minimumExpirationSeconds, minimumExpirationText } from "../requested-lifetime.ts";
import { validateSignerName } from "../signer-name-validation.ts";
import type { NamePatterns } from "./alternative-name-requirements.ts";
import type { AuthoritySource, SignerLifetime, SignerSpecification } from "./configured-signer.ts";
import { revocationUrlFault } from "../settings.ts";
import { authorityUsages, certificateUsagesOf } from "./usages.ts";

const apiVersion = "signet.platform.io/v1";
const kind = "SignerConfiguration";

/** The domains of both profiles are reserved for the server, whichever profile it uses. */
const reservedDomains = ["platform.io", "kubernetes.io", "k8s.io"];

/** The longest signer's name. The names of files and bundles add some characters to it, and may have at most 253. */
const maximumNameLength = 200;
const maximumSigners = 100;
const maximumEntries = 100;

const defaultUsages = ["digital signature", "key encipherment", "server auth"];
const defaultKeyTypes: readonly KeyType[] = ["ECDSA P-256", "ECDSA P-384", "ECDSA P-521", "Ed25519", "RSA 2048"];

const hourMilliseconds = 3_600_000;
const longestLifetime = { text: "262800h (30 years)", milliseconds: 262_800 * hourMilliseconds };
const defaultMaximumLifetime = "2160h";
const defaultAuthorityLifetime = "87600h";

/**
 * Parses the file of `--signer-config`. Parsing is strict: unknown fields, wrong types and invalid patterns are faults, each with the path
 * of its field. Relative paths start at the folder of `file`. Throws InvalidSettings with the faults, or an Error for a text that is not
 * YAML.
 */
export function parseSignerConfiguration(text: string, file: string): readonly SignerSpecification[] {
  const faults: string[] = [];
  const root = new PatternFields(parseYamlSettings(text), { path: "", faults });
  root.type(apiVersion, kind);
  const listed = root.list("signers", (value, path) =>
    parseSigner(value, { context: { path, faults }, folder: dirname(file) }),
  );
  const signers = root.bounded(listed, { name: "signers", maximum: maximumSigners }) ?? [];
  if (!root.has("signers")) root.fault("signers", "is required: a list, which may be empty");
  root.refuseOthers();
  root.refuseSameNames("signers", signers);
  refuseFaults(faults);
  return signers;
}

function parseSigner(
  value: unknown,
  { context, folder }: { readonly context: FieldContext; readonly folder: string },
): SignerSpecification {
  const fields = new PatternFields(value, context);
  const name = fields.text("name") ?? "";
  for (const fault of nameFaults(name)) fields.fault("name", fault);
  const bounded: BoundedList = (name, list) => fields.bounded(list, { name, maximum: maximumEntries });
  const specification = {
    name,
    ...parseAllowedNames(fields, bounded),
    certificateAuthority: parseAuthority(fields.fields("certificateAuthority"), folder),
    usages: parseUsages(fields, bounded("usages", fields.texts("usages", usageFault))),
    keyTypes: parseKeyTypes(fields, bounded("keyTypes", fields.texts("keyTypes", keyTypeFault))),
    lifetime: parseLifetime(fields),
    revocationUrl: parseRevocationUrl(fields),
  };
  const { certificateAuthority, lifetime } = specification;
  if (
    certificateAuthority.type === "generated" &&
    certificateAuthority.lifetimeMilliseconds < lifetime.maximumSeconds * 1000
  ) {
    fields.fault("maximumLifetime", "must not be longer than certificateAuthority.generate.lifetime");
  }
  fields.refuseOthers();
  return specification;
}

/** Returns the allowed entries of a list in the file. A longer list is a fault. */
type BoundedList = <T>(name: string, list: readonly T[] | undefined) => readonly T[] | undefined;

/** The names that the signer may sign. It is a fault to allow no names. */
function parseAllowedNames(
  fields: PatternFields,
  bounded: BoundedList,
): NamePatterns & Pick<SignerSpecification, "commonNames" | "organizations"> {
  const subject = fields.fields("subject");
  const [commonNames, organizations] = (["commonNames", "organizations"] as const).map((name) =>
    bounded(`subject.${name}`, subject.patterns(name, { separator: "", mayBeEmpty: true })),
  );
  subject.refuseOthers();
  const names = {
    dnsNames: bounded("dnsNames", fields.patterns("dnsNames", { separator: ".", faultOf: dnsPatternFault })),
    ipRanges: bounded(
      "ipRanges",
      fields.list("ipRanges", (range, path) => fields.ipRange(range, path)),
    ),
    emailAddresses: bounded(
      "emailAddresses",
      fields.patterns("emailAddresses", { separator: "@", faultOf: emailPatternFault }),
    ),
    uris: bounded("uris", fields.patterns("uris", { separator: "/", faultOf: uriPatternFault })),
  };
  if ([commonNames, ...Object.values(names)].every((list) => list === undefined || list.length === 0)) {
    fields.fault(
      "dnsNames",
      "is required: set the names that it may sign here or in ipRanges, emailAddresses, uris or subject.commonNames",
    );
  }
  return { commonNames, organizations, ...names };
}

function nameFaults(name: string): string[] {
  if (name.length > maximumNameLength) return [`must have at most ${maximumNameLength} characters`];
  const reserved = reservedDomains.find((one) => isWithinDomain(signerDomain(name), one));
  if (reserved !== undefined) return [`${reserved} is reserved for the server's own signers: use your own domain`];
  if (name === "") return ["is required, such as example.com/services"];
  return validateSignerName(name, "").map(({ message }) => message);
}

function parseAuthority(fields: PatternFields, folder: string): AuthoritySource {
  const certificateFile = fields.text("certificateFile");
  const keyFile = fields.text("keyFile");
  const isGenerated = fields.has("generate");
  const generate = fields.fields("generate");
  const commonName = isGenerated ? (generate.text("commonName") ?? "") : "";
  const lifetimeMilliseconds = isGenerated
    ? parseLifetimeOf(generate, { name: "lifetime", byDefault: defaultAuthorityLifetime })
    : 0;
  generate.refuseOthers();
  fields.refuseOthers();
  if (isGenerated) {
    if (certificateFile !== undefined || keyFile !== undefined) {
      fields.fault(
        "generate",
        "cannot be combined with certificateFile and keyFile: set either generate or both files",
      );
    }
    if (commonName.length > maximumCommonNameLength || !/^[\x20-\x7e]*[\x21-\x7e][\x20-\x7e]*$/.test(commonName)) {
      generate.fault("commonName", `must be 1 to ${maximumCommonNameLength} visible ASCII characters`);
    }
    return { type: "generated", commonName, lifetimeMilliseconds };
  }
  const required = "is required, unless generate is set";
  if (!certificateFile) fields.fault("certificateFile", required);
  if (!keyFile) fields.fault("keyFile", required);
  return {
    type: "files",
    certificateFile: resolve(folder, certificateFile ?? ""),
    keyFile: isPkcs11Uri(keyFile ?? "") ? (keyFile ?? "") : resolve(folder, keyFile ?? ""),
  };
}

function parseUsages(fields: PatternFields, usages: readonly string[] = defaultUsages): readonly string[] {
  if (certificateUsagesOf(usages).extendedKeyUsages.length > 0) return usages;
  fields.fault("usages", "must contain an extended key usage, such as server auth");
  return usages;
}

function usageFault(usage: string): string | undefined {
  if (usage === "any" || authorityUsages.includes(usage)) return `${usage} is only for CA certificates`;
  return certificateUsagesOf([usage]).unrecognized.length > 0 ? `unknown usage ${JSON.stringify(usage)}` : undefined;
}

function parseKeyTypes(fields: PatternFields, texts: readonly string[] | undefined): readonly KeyType[] {
  if (texts === undefined) return defaultKeyTypes;
  if (texts.length === 0) fields.fault("keyTypes", "must have at least one entry");
  return keyTypes.filter((type) => texts.includes(type));
}

const keyTypeFault = (text: string): string | undefined =>
  keyTypes.some((type) => type === text) ? undefined : `must be one of ${keyTypes.join(", ")}`;

function parseLifetime(fields: PatternFields): SignerLifetime {
  const maximum = parseLifetimeOf(fields, { name: "maximumLifetime", byDefault: defaultMaximumLifetime });
  const usual = fields.has("defaultLifetime")
    ? parseLifetimeOf(fields, { name: "defaultLifetime", byDefault: "" })
    : maximum;
  if (usual > maximum) fields.fault("defaultLifetime", "must not be longer than maximumLifetime");
  return { maximumSeconds: Math.floor(maximum / 1000), defaultSeconds: Math.floor(usual / 1000) };
}

function parseRevocationUrl(fields: PatternFields): string | undefined {
  const url = fields.text("revocationURL");
  const fault = url === undefined || url === "" ? undefined : revocationUrlFault(url);
  if (fault !== undefined) fields.fault("revocationURL", `${fault}, or empty`);
  return url?.replace(/\/$/, "");
}

/** A duration of the file, in milliseconds. */
function parseLifetimeOf(
  fields: PatternFields,
  { name, byDefault }: { readonly name: string; readonly byDefault: string },
): number {
  const milliseconds = parseDuration(fields.text(name) ?? byDefault) ?? 0;
  if (milliseconds >= minimumExpirationSeconds * 1000 && milliseconds <= longestLifetime.milliseconds)
    return milliseconds;
  fields.fault(name, `must be a duration such as 720h, from ${minimumExpirationText} to ${longestLifetime.text}`);
  return longestLifetime.milliseconds;
}

/**
 * Why a pattern of DNS names is not allowed. A wildcard matches one or more labels. The end of a pattern must be literal, so that no
 * pattern matches every domain.
 */
function dnsPatternFault(pattern: string): string | undefined {
  const labels = pattern.split(".");
  if (labels.at(-1)?.includes("*") === true) return "must end with a label without a wildcard";
  return dnsNameFault(pattern.replaceAll(/\*+/g, "x"), { allowsWildcard: false });
}

function emailPatternFault(pattern: string): string | undefined {
  const [local = "", domain, ...rest] = pattern.split("@");
  if (local === "" || domain === undefined || rest.length > 0 || local.includes("**")) {
    return "must be an email address such as *@example.com";
  }
  return dnsPatternFault(domain);
}

function uriPatternFault(pattern: string): string | undefined {
  const found = /^[a-z][a-z0-9+.-]*:(?:\/\/([^/]+)(?=\/|$)|(?!\/\/)[!-~])[!-~]*$/.exec(pattern);
  if (found === null) return "must be a URI such as spiffe://example.com/ns/*";
  const [, authority = ""] = found;
  return authority.includes("*") ? dnsPatternFault(authority.replace(/:\d+$/, "")) : undefined;
}
