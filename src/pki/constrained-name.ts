import { dnsNameFault } from "./dns-name.ts";

/** RFC 5321 4.1.2: who, as written, and where, in lower case. Only the host is compared without case (RFC 5280 7.5). */
export interface Mailbox {
  readonly localPart: string;
  readonly host: string;
}

/**
 * The host that a name constraint can be decided for, in lower case; undefined for a text that is no host name: then nothing
 * can be decided. Underscores are taken beside what `dnsNameFault` allows, for many names in use have them.
 */
export function hostNameOf(text: string, options: { readonly allowsWildcard: boolean }): string | undefined {
  const host = text.toLowerCase();
  // A text may change its length or become ASCII in lower case: only ASCII is a name.
  if (!/^\p{ASCII}*$/u.test(text)) return undefined;
  return dnsNameFault(host.replaceAll("_", "x"), options) === undefined ? host : undefined;
}

// RFC 5321 4.1.2, and as RFC 3696 3 has it an atom with escaped characters. Control characters are taken nowhere.
const atom = /^((?:[0-9A-Za-z!#$%&'*+\-/=?^_`{|}~.]|\\[!-~])+)@(.*)$/s;
const quoted = /^"((?:[ !#-[\]-~]|\\[ -~])*)"@(.*)$/s;

/** Reads a mailbox; undefined for a text that is none. */
export function mailboxOf(text: string): Mailbox | undefined {
  const isQuoted = text.startsWith('"');
  const [, local = "", domain = ""] = (isQuoted ? quoted : atom).exec(text) ?? [];
  const host = hostNameOf(domain, { allowsWildcard: false });
  const localPart = local.replace(/\\(.)/gs, "$1");
  if (host === undefined || (!isQuoted && /^\.|\.\.|\.$/.test(localPart))) return undefined;
  return { localPart, host };
}
