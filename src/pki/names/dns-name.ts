const maximumNameLength = 253;
const maximumLabelLength = 63;
const label = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;

/**
 * Why a text is not a DNS host name (RFC 1123 2.1, RFC 5890 2.3.1), or undefined when it is one. A host name consists of labels of lower
 * case letters, digits and inner hyphens: 1 to 63 characters each, 253 in all, no final dot. Internationalized names must be in their
 * `xn--` form. Upper case is refused, because two spellings of one name would match different rules. A name that ends in a number is
 * refused, because some clients read it as an IPv4 address. With `allowsWildcard` the leftmost label may be `*`, unless it is the only
 * label. The result does not quote the text, which may contain anything.
 */
export function dnsNameFault(
  name: string,
  { allowsWildcard }: { readonly allowsWildcard: boolean },
): string | undefined {
  if (name === "") return "must not be empty";
  if (name.length > maximumNameLength) return `must be at most ${maximumNameLength} characters long`;
  const labels = (allowsWildcard && name.startsWith("*.") ? name.slice(2) : name).split(".");
  for (const one of labels) {
    if (one === "") return "must not have an empty label, nor a dot at either end";
    if (one.length > maximumLabelLength) return `must have labels of at most ${maximumLabelLength} characters`;
    if (one.includes("*")) return allowsWildcard ? wildcardRule : "must not have a wildcard";
    if (!label.test(one)) {
      return "must consist of labels of lower case letters, digits and '-' that start and end with a letter or a digit";
    }
  }
  return /^(?:[0-9]+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? "")
    ? "must not end in a number, as an IP address does"
    : undefined;
}

const wildcardRule = "may have a wildcard only as its whole first label, in front of other labels";

/**
 * The host name in lower case, in the form that name constraints compare. Undefined when the text is not a host name, so that no constraint
 * can be decided. Also accepts underscores, which `dnsNameFault` refuses, because many names in use have them.
 */
export function hostNameOf(text: string, options: { readonly allowsWildcard: boolean }): string | undefined {
  const host = text.toLowerCase();
  // Converting other text to lower case may change its length or turn it into ASCII, so only ASCII counts as a name.
  if (!/^\p{ASCII}*$/u.test(text)) return undefined;
  return dnsNameFault(host.replaceAll("_", "x"), options) === undefined ? host : undefined;
}
