import type { ServerConfig } from "../settings/server-config.ts";
import { readSettingsFile } from "../../machinery/command-line/settings/settings-files.ts";
import { parseSignerConfiguration } from "../../features/certificates/signers/parse-signer-configuration.ts";
import { isPkcs11Uri, parsePkcs11Uri } from "../../machinery/pkcs11/pkcs11-uri.ts";

/** The files that settings name. */
export interface NamedFiles {
  /** PEM files with certificates. */
  readonly certificates: readonly string[];
  /** Private keys, tokens, and kubeconfigs that contain one of these. */
  readonly secrets: readonly string[];
  readonly keysInTokens: readonly KeyInToken[];
}

/** A key that a setting names by a `pkcs11:` URI. */
export interface KeyInToken {
  readonly uri: string;
  /** The file whose first certificate is for the key. Undefined: there is none. */
  readonly certificateFile: string | undefined;
}

export function namedFiles({ listener, access, accounts, federation, controllers, storage }: ServerConfig): NamedFiles {
  const etcd = storage.type === "etcd" ? storage : undefined;
  const { authority, authorityOf, signerConfigurationFile } = controllers.certificates;
  const pairs = [
    ...[listener.certificate, authority, ...Object.values(authorityOf), etcd?.clientCertificate],
    ...listener.namedCertificates,
    ...signerFiles(signerConfigurationFile),
  ].filter((pair) => pair !== undefined);
  const { issuers, webhook } = federation;
  const { signingKey } = accounts;
  const signing = "file" in signingKey ? signingKey.file : "inToken" in signingKey ? signingKey.inToken : undefined;
  return {
    certificates: given([
      ...pairs.map(({ certificateFile }) => certificateFile),
      ...[access.clientAuthorityFile, access.frontProxy.authorityFile, etcd?.authorityFile],
      issuers?.type === "flags" ? issuers.authorityFile : undefined,
    ]),
    secrets: given([
      ...[...pairs.map(({ keyFile }) => keyFile), signing].map((key) =>
        key !== undefined && isPkcs11Uri(key) ? pinFileOf(key) : key,
      ),
      ...[access.tokenFile, webhook?.file],
    ]),
    keysInTokens: keysInTokensOf([...pairs, { keyFile: signing, certificateFile: undefined }]),
  };
}

const given = (files: readonly (string | undefined)[]): string[] => [
  ...new Set(files.filter((file) => file !== undefined)),
];

interface NamedPair {
  readonly keyFile: string | undefined;
  readonly certificateFile: string | undefined;
}

/** Each key once for a certificate, however many settings name both: a token that does not answer takes seconds for each. */
function keysInTokensOf(pairs: readonly NamedPair[]): KeyInToken[] {
  const found = new Map<string, KeyInToken>();
  for (const { keyFile: uri, certificateFile } of pairs) {
    if (uri === undefined || !isPkcs11Uri(uri)) continue;
    found.set(JSON.stringify([uri, certificateFile]), { uri, certificateFile });
  }
  return [...found.values()];
}

/** The file with the PIN of a key. Undefined for an invalid URI, which `examineOutsideKeys` reports. */
function pinFileOf(uri: string): string | undefined {
  try {
    return parsePkcs11Uri(uri).pinFile;
  } catch {
    return undefined;
  }
}

/** The CAs of `--signer-config`. Empty when the file cannot be used, which the server's start reports. */
function signerFiles(file: string | undefined): { readonly certificateFile: string; readonly keyFile: string }[] {
  if (file === undefined) return [];
  try {
    const signers = parseSignerConfiguration(readSettingsFile("signer-config", file), file);
    return signers.flatMap(({ certificateAuthority: from }) => (from.type === "files" ? [from] : []));
  } catch {
    return [];
  }
}
