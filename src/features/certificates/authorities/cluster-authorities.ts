import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../../machinery/api/clock.ts";
import { UsageError } from "../../../machinery/command-line/flag.ts";
import { openClusterAuthority } from "./cluster-authority.ts";
import type { ClusterAuthority } from "./cluster-authority.ts";

/** How flags and files call the signers. */
export const signerWords = ["apiserver-client", "nodeagent-client", "nodeagent-serving"] as const;
export type SignerWord = (typeof signerWords)[number];

/** The CAs of a data directory. */
export interface ClusterAuthorities {
  /** Signs the server's own certificate: what clients verify the server with. */
  readonly server: ClusterAuthority;
  /** Signs the client certificate in `admin.kubeconfig`. */
  readonly administrator: ClusterAuthority;
  /** Signs requests, where the settings name no other. */
  readonly ofSigner: Readonly<Record<SignerWord, ClusterAuthority>>;
}

/**
 * Opens the data directory's CAs, and makes them on first use: one for the server itself, and one for each signer, so that
 * what one signs is believed only where that signer is. A directory that has only the server's, as earlier versions made
 * them, goes on with that one for everything. Throws UsageError when a signer's is missing, PkiError for files that do not fit.
 */
export function openClusterAuthorities(dataDirectory: string, clock: Clock): ClusterAuthorities {
  const missing = signerWords.filter((word) => !existsSync(join(dataDirectory, `${baseName(word)}.crt`)));
  // It is made last: where it is, the others are, or were never meant to be.
  if (existsSync(join(dataDirectory, "ca.crt")) && missing.length > 0) {
    if (missing.length < signerWords.length) {
      throw new UsageError(
        `${dataDirectory} holds ca.crt but not ${missing.map((word) => `${baseName(word)}.crt`).join(", ")}: ` +
          "copy the missing files, each with its .key, from a backup or another replica",
      );
    }
    const server = openClusterAuthority({ dataDirectory, clock });
    return { server, administrator: server, ofSigner: byWord(() => server) };
  }
  const ofSigner = byWord((word) => openClusterAuthority({ dataDirectory, clock, baseName: baseName(word) }));
  return {
    server: openClusterAuthority({ dataDirectory, clock }),
    administrator: ofSigner["apiserver-client"],
    ofSigner,
  };
}

const baseName = (word: SignerWord): string => `${word}-ca`;

const byWord = (authorityOf: (word: SignerWord) => ClusterAuthority): ClusterAuthorities["ofSigner"] => ({
  "apiserver-client": authorityOf("apiserver-client"),
  "nodeagent-client": authorityOf("nodeagent-client"),
  "nodeagent-serving": authorityOf("nodeagent-serving"),
});
