import type { SecureContext } from "node:tls";
import { messageOf } from "../../machinery/api/thrown-error.ts";
import { UsageError } from "../../machinery/command-line/flag.ts";
import { parseSettingsFile, readSettingsFile } from "../../machinery/command-line/settings-files.ts";
import type { FollowedFiles } from "../../machinery/files/followed-files.ts";
import { createNamedContext } from "../../machinery/http/serving-context.ts";
import type { TlsProtocol } from "../../machinery/http/serving-context.ts";
import { timestamp } from "../../machinery/api/clock.ts";
import type { Certificate } from "../../pki/certificate.ts";
import { parseCertificatesPem } from "../../pki/trust-anchors.ts";
import { namedKeyPairsFlag, serverNamePattern } from "./named-key-pairs.ts";
import type { NamedKeyPair } from "./named-key-pairs.ts";

/** The certificates for clients that ask for a server name. */
export interface NamedCertificates {
  /** Undefined when no certificate is for this name. At most two look-ups. */
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
 * Reads the pairs, and each again when its files change: new connections get the new certificate. Throws UsageError for a
 * pair that cannot be used now; later, its last good certificate stays in use.
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
  const cert = readSettingsFile(namedKeyPairsFlag, certificateFile);
  const key = readSettingsFile(namedKeyPairsFlag, keyFile);
  const chain = parseSettingsFile({ flag: namedKeyPairsFlag, file: certificateFile }, () => parseCertificatesPem(cert));
  const [leaf] = chain;
  if (leaf === undefined) {
    throw new UsageError(`--${namedKeyPairsFlag}: ${certificateFile} holds no certificate`);
  }
  const shown = names.length > 0 ? names : namesIn(leaf);
  if (shown.length === 0) {
    throw new UsageError(
      `--${namedKeyPairsFlag}: ${certificateFile} has no DNS name: give the names for it, as in ${certificateFile},${keyFile}:foo.com`,
    );
  }
  try {
    return { chain, context: createNamedContext({ cert, key }, protocol), names: shown };
  } catch (cause) {
    throw new UsageError(
      `--${namedKeyPairsFlag}: ${certificateFile} and ${keyFile} are not a certificate and its private key: ${messageOf(cause)}`,
      { cause },
    );
  }
}

/** Clients ask for no addresses, so those of the certificate are left out (upstream: `getCertificateNames`). */
const namesIn = ({ subject, subjectAltNames }: Certificate): string[] =>
  [subject.commonName, ...subjectAltNames.dnsNames].flatMap((name) => serverNamePattern(name) ?? []);

/** Names of the flag win over names of certificates, then earlier pairs over later ones (as upstream). */
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
