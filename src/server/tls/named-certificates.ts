import type { SecureContext } from "node:tls";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import type { FollowedFiles } from "../../machinery/files/followed/followed-files.ts";
import { createNamedContext } from "../../machinery/http/connections/serving-context.ts";
import type { TlsProtocol } from "../../machinery/http/connections/serving-context.ts";
import { timestamp } from "../../machinery/api/clock.ts";
import type { Certificate } from "../../pki/certificates/certificate.ts";
import { namedKeyPairsFlag, serverNamePattern } from "./named-key-pairs.ts";
import type { NamedKeyPair } from "./named-key-pairs.ts";
import { readServingPair } from "./read-serving-pair.ts";

/** The certificates for clients that send a server name. */
export interface NamedCertificates {
  /** The certificate for a server name. Undefined when there is none. Takes at most two look-ups. */
  contextFor(serverName: string): SecureContext | undefined;
  /** The names and patterns that have a certificate. */
  names(): readonly string[];
  /** The certificates with their chains. */
  certificates(): readonly Certificate[];
}

interface LoadedPair {
  readonly chain: readonly Certificate[];
  readonly context: SecureContext;
  readonly names: readonly string[];
}

/**
 * Reads the pairs, and each again when its files change: new connections then get the new certificate. Throws UsageError for a pair that
 * cannot be used now. When a later change cannot be used, the last good certificate stays in use.
 */
export function openNamedCertificates(
  pairs: readonly NamedKeyPair[],
  { protocol, followed }: { readonly protocol: TlsProtocol; readonly followed: FollowedFiles },
): NamedCertificates {
  const loaded: LoadedPair[] = [];
  let contexts: ReadonlyMap<string, SecureContext> = new Map();
  for (const [index, pair] of pairs.entries()) {
    loaded[index] = followed.follow({
      setting: namedKeyPairsFlag,
      files: () => [pair.certificateFile, pair.keyFile],
      load: () => loadPair(pair, protocol),
      onChange(next) {
        loaded[index] = next;
        contexts = contextsByName(pairs, loaded);
      },
      describe: ({ chain, names }) => ({ names, notAfter: timestamp(chain[0]?.notAfter ?? 0) }),
    })();
  }
  contexts = contextsByName(pairs, loaded);
  return {
    contextFor(serverName) {
      const name = serverName.toLowerCase();
      const dot = name.indexOf(".");
      return contexts.get(name) ?? contexts.get(dot < 0 ? "*" : `*${name.slice(dot)}`);
    },
    names: () => [...contexts.keys()],
    certificates: () => loaded.flatMap(({ chain }) => chain),
  };
}

function loadPair({ certificateFile, keyFile, names }: NamedKeyPair, protocol: TlsProtocol): LoadedPair {
  const flag = namedKeyPairsFlag;
  const files = { certificateFlag: flag, certificateFile, keyFlag: flag, keyFile };
  const { certificate, chain } = readServingPair(files);
  const shown = names.length > 0 ? names : chain.slice(0, 1).flatMap(namesIn);
  if (shown.length === 0) {
    throw new UsageError(
      `--${flag}: ${certificateFile} has no DNS name: give the names for it, as in ${certificateFile},${keyFile}:foo.com`,
    );
  }
  return { chain, context: createNamedContext(certificate, protocol), names: shown };
}

/**
 * The server names of a certificate. Clients send no addresses as server names, so addresses are left out (upstream:
 * `getCertificateNames`).
 */
const namesIn = ({ subject, subjectAltNames }: Certificate): string[] =>
  [subject.commonName, ...subjectAltNames.dnsNames].flatMap((name) => serverNamePattern(name) ?? []);

/** Names of the flag take precedence over names of certificates, and earlier pairs over later ones, as in upstream. */
function contextsByName(
  pairs: readonly NamedKeyPair[],
  loaded: readonly LoadedPair[],
): ReadonlyMap<string, SecureContext> {
  const byName = new Map<string, SecureContext>();
  for (const isFromSetting of [true, false]) {
    for (const [index, { context, names }] of loaded.entries()) {
      if ((pairs[index]?.names.length !== 0) !== isFromSetting) continue;
      for (const name of names) if (!byName.has(name)) byName.set(name, context);
    }
  }
  return byName;
}
