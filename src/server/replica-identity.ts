import { UsageError } from "../machinery/command-line/flag.ts";
import { fingerprintOf } from "../pki/certificate.ts";
import { authorityFileName } from "../features/certificates/authorities/cluster-authorities.ts";
import type { ClusterAuthorities } from "../features/certificates/authorities/cluster-authorities.ts";
import { bySigner, wellKnownSigners } from "../features/certificates/signers/well-known-signers.ts";
import type { SignerShortName } from "../features/certificates/signers/well-known-signers.ts";
import type { Store } from "../machinery/storage/store.ts";

/** What all replicas of a server must have in common: it decides whom they believe. */
export interface ReplicaIdentity {
  readonly authorities: ClusterAuthorities;
  /** The `kid` of the key that signs tokens. */
  readonly signingKeyId: string;
  /** Those of all keys that verify tokens. */
  readonly verificationKeyIds: readonly string[];
}

/** Beside the objects, which are below /registry/. Fingerprints only: no secret is stored. */
const key = "/replicas/identity";

interface Recorded {
  readonly authority: string;
  /** By the signer's short name. Versions with one CA for everything leave it out: then it is the server's. */
  readonly ofSigner: Readonly<Record<SignerShortName, string>>;
  readonly signingKeyId: string;
}

/**
 * Compares this replica's CAs and keys with what the first one recorded in the store, or records them. Throws UsageError for
 * a replica that would refuse what the others issue. Another signing key may take over once all replicas verify it.
 */
export async function checkReplicaIdentity(store: Store, identity: ReplicaIdentity): Promise<void> {
  const own: Recorded = {
    authority: fingerprintOf(identity.authorities.server.certificate),
    ofSigner: bySigner((shortName) => fingerprintOf(identity.authorities.ofSigner[shortName].certificate)),
    signingKeyId: identity.signingKeyId,
  };
  for (;;) {
    const { entries } = await store.range({ start: key, end: `${key}\0` });
    const [entry] = entries;
    const recorded = entry && parseRecorded(entry.value);
    if (recorded !== undefined) check(recorded, own, identity);
    if (recorded !== undefined && recorded.signingKeyId === own.signingKeyId) return;
    const { isWritten } = await store.write({
      key,
      value: Buffer.from(JSON.stringify(own)),
      expectedRevision: entry?.modRevision ?? 0,
    });
    if (isWritten) return;
  }
}

function check(recorded: Recorded, own: Recorded, { verificationKeyIds }: ReplicaIdentity): void {
  if (recorded.authority !== own.authority) {
    throw new UsageError(
      "this replica's CA is not that of the others on this etcd: give all of them the same ca.crt and ca.key in their data directories",
    );
  }
  if (!verificationKeyIds.includes(recorded.signingKeyId)) {
    throw new UsageError(
      "this replica does not know the key that signs the others' tokens: give all of them the same service-account.key in " +
        "their data directories, or --service-account-signing-key-file, or that key in --service-account-key-file",
    );
  }
  const others = wellKnownSigners.filter(({ shortName }) => recorded.ofSigner[shortName] !== own.ofSigner[shortName]);
  if (others.length > 0) {
    const files = others.map(({ shortName }) => `${authorityFileName(shortName)}.crt`).join(", ");
    throw new UsageError(
      `this replica's CAs of the signers are not those of the others on this etcd (${files}): give all of them the same ` +
        "*-ca.crt and *-ca.key in their data directories, or none of them where the others have none",
    );
  }
}

function parseRecorded(value: Buffer): Recorded {
  const parsed: unknown = JSON.parse(value.toString("utf8"));
  const fields = new Map(typeof parsed === "object" && parsed !== null ? Object.entries(parsed) : []);
  const authority = String(fields.get("authority"));
  const signers: unknown = fields.get("ofSigner");
  const ofSigner = new Map(typeof signers === "object" && signers !== null ? Object.entries(signers) : []);
  const recordedOf = (shortName: SignerShortName): string => String(ofSigner.get(shortName) ?? authority);
  return {
    authority,
    ofSigner: bySigner(recordedOf),
    signingKeyId: String(fields.get("signingKeyId")),
  };
}
