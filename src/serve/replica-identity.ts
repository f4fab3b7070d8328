import { createHash } from "node:crypto";
import { UsageError } from "../cli/flag.ts";
import type { Certificate } from "../pki/certificate.ts";
import type { Store } from "../storage/store.ts";

/** What all replicas of a server must have in common: it decides whom they believe. */
export interface ReplicaIdentity {
  readonly authority: Certificate;
  /** The `kid` of the key that signs tokens. */
  readonly signingKeyId: string;
  /** Those of all keys that verify tokens. */
  readonly verificationKeyIds: readonly string[];
}

/** Beside the objects, which are below /registry/. Fingerprints only: no secret is stored. */
const key = "/replicas/identity";

interface Recorded {
  readonly authority: string;
  readonly signingKeyId: string;
}

/**
 * Compares this replica's CA and keys with what the first one recorded in the store, or records them. Throws UsageError for
 * a replica that would refuse what the others issue. Another signing key may take over once all replicas verify it.
 */
export async function agreeOnIdentity(store: Store, identity: ReplicaIdentity): Promise<void> {
  const own: Recorded = {
    authority: createHash("sha256").update(identity.authority.der).digest("hex"),
    signingKeyId: identity.signingKeyId,
  };
  for (;;) {
    const { entries } = await store.range({ start: key, end: `${key}\0` });
    const [entry] = entries;
    const recorded = entry && parseRecorded(entry.value);
    if (recorded !== undefined) check(recorded, own, identity);
    if (recorded?.authority === own.authority && recorded.signingKeyId === own.signingKeyId) return;
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
}

function parseRecorded(value: Buffer): Recorded {
  const parsed: unknown = JSON.parse(value.toString("utf8"));
  const fields = new Map(typeof parsed === "object" && parsed !== null ? Object.entries(parsed) : []);
  return { authority: String(fields.get("authority")), signingKeyId: String(fields.get("signingKeyId")) };
}
