import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import { UsageError } from "../../../machinery/command-line/settings/flag.ts";
import { apiserverClient } from "../signers/apiserver-client.ts";
import { bySigner, wellKnownSigners } from "../signers/well-known-signers.ts";
import type { SignerShortName } from "../signers/well-known-signers.ts";
import { readAuthorityFile } from "./authority-in-files.ts";
import { generatedAuthorityFiles } from "./generated-authorities.ts";
import { RotatableAuthority } from "./rotatable-authority.ts";
import type { RotatableAuthorityOptions } from "./rotatable-authority.ts";

/** The CAs of a data directory. Rotations change them: read them for each use. */
export interface DataDirectoryAuthorities {
  /** Signs the server's own certificate. Clients verify the server with this CA. */
  readonly server: RotatableAuthority;
  /** Signs the client certificate in `admin.kubeconfig`. */
  readonly administrator: RotatableAuthority;
  /** Sign requests when the settings configure no other CA. */
  readonly ofSigner: Readonly<Record<SignerShortName, RotatableAuthority>>;
  /** Whether `signet ca retire` ended the trust in this CA. */
  isRetired(certificate: Certificate): boolean;
}

/** The name of the files of the server's own CA, without extension. */
export const serverAuthorityName = "ca";

/**
 * Opens the CAs of the data directory and generates them on first use: one for the server itself, and one for each signer, so that a
 * certificate is trusted only where its signer is trusted. A directory of an earlier version contains only the server's CA, which is then
 * used for everything. Throws UsageError when a signer's CA is missing, and UnusableFile when a certificate and its key do not match.
 */
export function openDataDirectoryAuthorities(
  options: Pick<RotatableAuthorityOptions, "dataDirectory" | "clock" | "records" | "sealingKey" | "log">,
): DataDirectoryAuthorities {
  const open = (baseName: string): RotatableAuthority => new RotatableAuthority({ ...options, baseName });
  if (hasOneAuthority(options.dataDirectory)) {
    const server = open(serverAuthorityName);
    const isRetired = (certificate: Certificate): boolean => server.isRetired(certificate);
    return { server, administrator: server, ofSigner: bySigner(() => server), isRetired };
  }
  const ofSigner = bySigner((shortName) => open(authorityFileName(shortName)));
  const server = open(serverAuthorityName);
  const isRetired = (certificate: Certificate): boolean =>
    [server, ...Object.values(ofSigner)].some((authority) => authority.isRetired(certificate));
  return { server, administrator: ofSigner[apiserverClient.shortName], ofSigner, isRetired };
}

/**
 * The CAs of a data directory that `signet ca` rotates, by name: the path of their files without extension. The server's own CA is the
 * first.
 */
export function authorityFiles(dataDirectory: string): ReadonlyMap<string, string> {
  const own = [
    serverAuthorityName,
    ...(hasOneAuthority(dataDirectory) ? [] : wellKnownSigners.map(({ shortName }) => authorityFileName(shortName))),
  ];
  return new Map([
    ...own.map((name) => [name, join(dataDirectory, name)] as const),
    ...generatedAuthorityFiles(dataDirectory),
  ]);
}

/**
 * The certificate (PEM) of a CA of the data directory, by the path of its files. Throws UsageError for a missing certificate, and
 * UnusableFile.
 */
export function readAuthorityCertificate(file: string): string {
  if (existsSync(`${file}.crt`)) return readAuthorityFile(`${file}.crt`);
  throw new UsageError(`${file}.crt is missing: start the server, which makes it again for its key`);
}

/** Whether the directory is of an earlier version, with one CA for everything. Throws UsageError when only some signers have a CA. */
function hasOneAuthority(dataDirectory: string): boolean {
  // A CA is missing only without certificate and key: a lost certificate is made again for its key.
  const missing = wellKnownSigners.filter(({ shortName }) =>
    [".crt", ".key"].every((extension) => !existsSync(join(dataDirectory, authorityFileName(shortName) + extension))),
  );
  // The server's CA is generated last: if it exists, the others exist too, or the directory is of an earlier version.
  if (missing.length === 0 || !existsSync(join(dataDirectory, `${serverAuthorityName}.crt`))) return false;
  if (missing.length === wellKnownSigners.length) return true;
  throw new UsageError(
    `${dataDirectory} contains ca.crt but not ${missing.map(({ shortName }) => `${authorityFileName(shortName)}.crt`).join(", ")}: ` +
      "copy the missing files, each with its .key, from a backup or another replica",
  );
}

/** The name of a signer's CA files, without extension. */
export const authorityFileName = (shortName: SignerShortName): string => `${shortName}-ca`;
