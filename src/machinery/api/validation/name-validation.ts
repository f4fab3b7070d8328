/** Says why a name is invalid; empty when it is valid. `isPrefix` marks a generateName, which gets a suffix later. */
export type ValidateName = (name: string, options: { readonly isPrefix: boolean }) => string[];

const labelFormat = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomainFormat = `${labelFormat}(\\.${labelFormat})*`;
const configKeyFormat = "[-._a-zA-Z0-9]+";

const label = new RegExp(`^${labelFormat}$`);
const subdomain = new RegExp(`^${subdomainFormat}$`);
const configKey = new RegExp(`^${configKeyFormat}$`);

export const maximumLabelLength = 63;
export const maximumSubdomainLength = 253;

/** UTF-8 bytes: all of upstream's limits count bytes, even where the message says characters. */
const byteLength = (value: string): number => Buffer.byteLength(value, "utf8");

/** Explains which pattern a value does not match (upstream: `validation.RegexError`, with the same commas). */
export function patternMessage(
  message: string,
  { format, examples }: { readonly format: string; readonly examples: readonly string[] },
): string {
  return `${message} (e.g. ${examples.map((one) => `'${one}', `).join(" or ")}regex used for validation is '${format}')`;
}

/** RFC 1123 label, as in a namespace's name (upstream: `IsDNS1123Label`). */
export function dnsLabelFaults(value: string): string[] {
  const faults: string[] = [];
  if (byteLength(value) > maximumLabelLength) faults.push(`must be no more than ${maximumLabelLength} characters`);
  if (!label.test(value)) {
    faults.push(
      subdomain.test(value)
        ? "must not contain dots"
        : patternMessage(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
            { format: labelFormat, examples: ["my-name", "123-abc"] },
          ),
    );
  }
  return faults;
}

/** RFC 1035 label, as in the version of a group (upstream: `IsDNS1035Label`). */
export function dns1035LabelFaults(value: string): string[] {
  const faults: string[] = [];
  if (byteLength(value) > maximumLabelLength) faults.push(`must be no more than ${maximumLabelLength} characters`);
  if (!/^[a-z](?:[-a-z0-9]*[a-z0-9])?$/.test(value)) {
    faults.push(
      patternMessage(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
        { format: "[a-z]([-a-z0-9]*[a-z0-9])?", examples: ["my-name", "abc-123"] },
      ),
    );
  }
  return faults;
}

/** RFC 1123 subdomain, as in most kinds' names (upstream: `IsDNS1123Subdomain`). */
export const dnsSubdomainFaults = (value: string): string[] =>
  byteLength(value) > maximumSubdomainLength
    ? [`must be no more than ${maximumSubdomainLength} characters`, ...subdomainPatternFaults(value)]
    : subdomainPatternFaults(value);

/** Like `dnsSubdomainFaults`, without the limit of the length. */
export const subdomainPatternFaults = (value: string): string[] =>
  subdomain.test(value)
    ? []
    : [
        patternMessage(
          "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
          { format: subdomainFormat, examples: ["example.com"] },
        ),
      ];

/** A key of a ConfigMap's or a Secret's data (upstream: `IsConfigMapKey`). */
export function configKeyFaults(value: string): string[] {
  const faults: string[] = [];
  if (byteLength(value) > maximumSubdomainLength) {
    faults.push(`must be no more than ${maximumSubdomainLength} characters`);
  }
  if (!configKey.test(value)) {
    faults.push(
      patternMessage("a valid config key must consist of alphanumeric characters, '-', '_' or '.'", {
        format: configKeyFormat,
        examples: ["key.name", "KEY_NAME", "key-name"],
      }),
    );
  }
  if (value === ".") faults.push("must not be '.'");
  else if (value === "..") faults.push("must not be '..'");
  else if (value.startsWith("..")) faults.push("must not start with '..'");
  return faults;
}

/**
 * A prefix may end with a dash, because a suffix follows (upstream: `maskTrailingDash`, which also drops one more
 * character).
 */
const withoutTrailingDash = (name: string): string =>
  name.length > 1 && name.endsWith("-") ? `${name.slice(0, -2)}a` : name;

export const validateDnsLabelName: ValidateName = (name, { isPrefix }) =>
  dnsLabelFaults(isPrefix ? withoutTrailingDash(name) : name);

export const validateDns1035LabelName: ValidateName = (name, { isPrefix }) =>
  dns1035LabelFaults(isPrefix ? withoutTrailingDash(name) : name);

export const validateDnsSubdomainName: ValidateName = (name, { isPrefix }) =>
  dnsSubdomainFaults(isPrefix ? withoutTrailingDash(name) : name);

/** A name that is safe as a path segment. All kinds require it, and the RBAC kinds require nothing more. */
export const pathSegmentFaults = (name: string): string[] =>
  name === "." || name === ".." ? [`may not be '${name}'`] : pathSegmentCharacterFaults(name);

function pathSegmentCharacterFaults(name: string): string[] {
  const faults: string[] = [];
  for (const one of ["/", "%"]) if (name.includes(one)) faults.push(`may not contain '${one}'`);
  return faults;
}

export const validatePathSegmentName: ValidateName = (name, { isPrefix }) =>
  isPrefix ? pathSegmentCharacterFaults(name) : pathSegmentFaults(name);
