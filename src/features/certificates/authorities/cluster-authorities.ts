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
  /** Signs requests, where the settings name no other. */
  readonly ofSigner: Readonly<Record<SignerShortName, ClusterAuthority>>;
}

/**
 * Opens the data directory's CAs, and makes them on first use: one for the server itself, and one for each signer, so that
 * what one signs is believed only where that signer is. A directory that has only the server's, as earlier versions made
 * them, goes on with that one for everything. Throws UsageError when a signer's is missing, PkiError for files that do not fit.
 */
export function openClusterAuthorities(dataDirectory: string, clock: Clock): ClusterAuthorities {
  const missing = wellKnownSigners.filter(
    ({ shortName }) => !existsSync(join(dataDirectory, `${authorityFileName(shortName)}.crt`)),
  );
  // It is made last: where it is, the others are, or were never meant to be.
  if (existsSync(join(dataDirectory, "ca.crt")) && missing.length > 0) {
    if (missing.length < wellKnownSigners.length) {
      throw new UsageError(
        `${dataDirectory} holds ca.crt but not ${missing.map(({ shortName }) => `${authorityFileName(shortName)}.crt`).join(", ")}: ` +
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

/** What the names of a signer's CA files begin with. */
export const authorityFileName = (shortName: SignerShortName): string => `${shortName}-ca`;
