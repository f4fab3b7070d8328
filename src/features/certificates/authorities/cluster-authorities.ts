import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../../machinery/api/clock.ts";
import { UsageError } from "../../../machinery/command-line/flag.ts";
import { apiserverClient } from "../signers/apiserver-client.ts";
import { bySigner, wellKnownSigners } from "../signers/well-known-signers.ts";
import type { SignerShortName } from "../signers/well-known-signers.ts";
import { openClusterAuthority } from "./cluster-authority.ts";
import type { ClusterAuthority } from "./cluster-authority.ts";

/** The CAs of a data directory. */
export interface ClusterAuthorities {
  /** Signs the server's own certificate: what clients verify the server with. */
  readonly server: ClusterAuthority;
  /** Signs the client certificate in `admin.kubeconfig`. */
  readonly administrator: ClusterAuthority;
  /** Signs requests when the settings configure no other CA. */
  readonly ofSigner: Readonly<Record<SignerShortName, ClusterAuthority>>;
}

/**
 * Opens the CAs of the data directory and generates them on first use: one for the server itself, and one for each
 * signer, so that a certificate is trusted only where its signer is trusted. A directory of an earlier version contains
 * only the server's CA; it is then used for everything. Throws UsageError when a signer's CA is missing, and PkiError
 * when a certificate and key do not match.
 */
export function openClusterAuthorities(dataDirectory: string, clock: Clock): ClusterAuthorities {
  const missing = wellKnownSigners.filter(
    ({ shortName }) => !existsSync(join(dataDirectory, `${authorityFileName(shortName)}.crt`)),
  );
  // It is generated last: if it exists, the others exist too, or the directory is of an earlier version.
  if (existsSync(join(dataDirectory, "ca.crt")) && missing.length > 0) {
    if (missing.length < wellKnownSigners.length) {
      throw new UsageError(
        `${dataDirectory} contains ca.crt but not ${missing.map(({ shortName }) => `${authorityFileName(shortName)}.crt`).join(", ")}: ` +
          "copy the missing files, each with its .key, from a backup or another replica",
      );
    }
    const server = openClusterAuthority({ dataDirectory, clock });
    return { server, administrator: server, ofSigner: bySigner(() => server) };
  }
  const ofSigner = bySigner((shortName) =>
    openClusterAuthority({ dataDirectory, clock, baseName: authorityFileName(shortName) }),
  );
  return {
    server: openClusterAuthority({ dataDirectory, clock }),
    administrator: ofSigner[apiserverClient.shortName],
    ofSigner,
  };
}

/** The name of a signer's CA files, without extension. */
export const authorityFileName = (shortName: SignerShortName): string => `${shortName}-ca`;
