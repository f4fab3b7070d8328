import { dnsNameFault } from "./dns-name.ts";

/** RFC 5321 4.1.2: the local part as written, and the host in lower case. Only the host ignores case (RFC 5280 7.5). */
export interface Mailbox {
  readonly localPart: string;
  readonly host: string;
}

/**
 * The host name in lower case, in the form that name constraints compare. Undefined when the text is not a host name:
 * then no constraint can be decided. Also accepts underscores, which `dnsNameFault` refuses: many names in use have
 * them.
 */
export function hostNameOf(text: string, options: { readonly allowsWildcard: boolean }): string | undefined {
  const host = text.toLowerCase();
  // Lower-casing other text may change its length or turn it into ASCII, so only ASCII counts as a name.
  if (!/^\p{ASCII}*$/u.test(text)) return undefined;
  return dnsNameFault(host.replaceAll("_", "x"), options) === undefined ? host : undefined;
}

// RFC 5321 4.1.2, and RFC 3696 3 for escaped characters in an atom. Control characters are never accepted.
const atom = /^((?:[0-9A-Za-z!#$%&'*+\-/=?^_`{|}~.]|\\[!-~])+)@(.*)$/s;
const quoted = /^"((?:[ !#-[\]-~]|\\[ -~])*)"@(.*)$/s;

/** Parses a mailbox (`local@host`), or returns undefined when the text is not one. */
export function mailboxOf(text: string): Mailbox | undefined {
  const isQuoted = text.startsWith('"');
  const [, local = "", domain = ""] = (isQuoted ? quoted : atom).exec(text) ?? [];
  const host = hostNameOf(domain, { allowsWildcard: false });
  const localPart = local.replace(/\\(.)/gs, "$1");
  if (host === undefined || (!isQuoted && /^\.|\.\.|\.$/.test(localPart))) return undefined;
  return { localPart, host };
}
