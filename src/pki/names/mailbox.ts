import { hostNameOf } from "./dns-name.ts";

/** A mailbox (RFC 5321 4.1.2): the local part as written, and the host in lower case, because only the host ignores case (RFC 5280 7.5). */
export interface Mailbox {
  readonly localPart: string;
  readonly host: string;
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
