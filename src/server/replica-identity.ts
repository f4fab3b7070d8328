import { UsageError } from "../machinery/command-line/flag.ts";
import { fingerprintOf } from "../pki/certificate.ts";
import { authorityFileName } from "../features/certificates/authorities/cluster-authorities.ts";
import type { ClusterAuthorities } from "../features/certificates/authorities/cluster-authorities.ts";
import { bySigner, wellKnownSigners } from "../features/certificates/signers/well-known-signers.ts";
import type { SignerShortName } from "../features/certificates/signers/well-known-signers.ts";
import type { Store } from "../machinery/storage/store.ts";

/**
 * The CAs and keys that all replicas of a server must share, so that they trust each other's tokens and certificates.
 */
export interface ReplicaIdentity {
  readonly authorities: ClusterAuthorities;
  /** The `kid` of the key that signs tokens. */
  readonly signingKeyId: string;
  /** The `kid`s of all keys that verify tokens. */
  readonly verificationKeyIds: readonly string[];
}

/** Separate from the objects, which are below /registry/. Contains only fingerprints, no secrets. */
const key = "/replicas/identity";

interface Recorded {
  readonly authority: string;
  /** By the signer's short name. Versions with one CA for everything leave it out: then it is the server's. */
  readonly ofSigner: Readonly<Record<SignerShortName, string>>;
  readonly signingKeyId: string;
}

/**
 * Compares this replica's CAs and keys with what the first one recorded in the store, or records them. Throws
 * UsageError for a replica that would refuse tokens or certificates of the others. The signing key can change once all
 * replicas verify with the new key.
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
      "this replica's CA differs from that of the other replicas on this etcd: copy the same ca.crt and ca.key into all data directories",
    );
  }
  if (!verificationKeyIds.includes(recorded.signingKeyId)) {
    throw new UsageError(
      "this replica cannot verify the tokens of the other replicas: copy the same service-account.key into " +
        "all data directories, set the same --service-account-signing-key-file, or add the other key with --service-account-key-file",
    );
  }
  const others = wellKnownSigners.filter(({ shortName }) => recorded.ofSigner[shortName] !== own.ofSigner[shortName]);
  if (others.length > 0) {
    const files = others.map(({ shortName }) => `${authorityFileName(shortName)}.crt`).join(", ");
    throw new UsageError(
      `this replica's signer CAs differ from those of the other replicas on this etcd (${files}): copy the same ` +
        "*-ca.crt and *-ca.key into all data directories, or remove them if the other replicas have none",
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
