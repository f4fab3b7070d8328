import { isIP } from "node:net";
import { dnsSubdomainFaults } from "../../machinery/api/validation/name-validation.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import type { FlagValues, Flags } from "../../machinery/command-line/settings/flag.ts";

export const namedKeyPairsFlag = "tls-sni-cert-key";

export const namedKeyPairsFlags = {
  [namedKeyPairsFlag]: {
    type: "strings",
    isFollowed: true,
    hasCommasInTexts: true,
    help: "CERTIFICATE-FILE,KEY-FILE or CERTIFICATE-FILE,KEY-FILE:NAME,NAME: a certificate for clients that ask for one of these names (SNI), such as foo.com or *.foo.com. Without names: those in the certificate. An exact name comes before a pattern, names given here before those of certificates, then the first pair.",
  },
} as const satisfies Flags;

/** The files of a certificate for clients that send certain server names. */
export interface NamedKeyPair {
  readonly certificateFile: string;
  readonly keyFile: string;
  /** DNS names and patterns in lower case. Empty: the names in the certificate. */
  readonly names: readonly string[];
}

/** Throws UsageError for a text that does not have the form of the flag. */
export const namedKeyPairs = (values: FlagValues<typeof namedKeyPairsFlags>): NamedKeyPair[] =>
  values[namedKeyPairsFlag].map(parseNamedKeyPair);

function parseNamedKeyPair(text: string): NamedKeyPair {
  const refuse = (reason: string): never => {
    throw new UsageError(
      `--${namedKeyPairsFlag}: ${JSON.stringify(text)} ${reason}: write tls.crt,tls.key or tls.crt,tls.key:foo.com,*.foo.com`,
    );
  };
  const colon = text.indexOf(":");
  const files = (colon < 0 ? text : text.slice(0, colon)).split(",").map((one) => one.trim());
  const [certificateFile, keyFile] = files;
  if (files.length !== 2 || !certificateFile || !keyFile) {
    return refuse("is not the files of a certificate and its key, with a comma between them");
  }
  const names = colon < 0 ? [] : text.slice(colon + 1).split(",");
  return { certificateFile, keyFile, names: names.map((name) => serverNamePattern(name) ?? refuse(faultOf(name))) };
}

const faultOf = (name: string): string =>
  isIP(name.trim()) === 0
    ? `has ${JSON.stringify(name)}, which is neither a DNS name nor *. and a DNS name`
    : `has the address ${name.trim()}, but clients ask only for DNS names; addresses belong into the certificate of --tls-cert-file`;

/** Parses a DNS name, `*.` with a DNS name, or `*` for every name of one label, to lower case. Undefined for other texts. */
export function serverNamePattern(text: string): string | undefined {
  const name = text.trim().toLowerCase();
  const isPattern = name === "*" || dnsSubdomainFaults(name.replace(/^\*\./, "")).length === 0;
  return isPattern && isIP(name) === 0 ? name : undefined;
}
