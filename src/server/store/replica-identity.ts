import { existsSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { jsonFields } from "../../machinery/api/json/json-object.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import { parseSettingsFile } from "../../machinery/command-line/settings/settings-files.ts";
import { fingerprintOf } from "../../pki/certificates/certificate.ts";
import { parseCertificatesPem } from "../../pki/certificates/certificates-pem.ts";
import {
  authorityFileName,
  authorityFiles,
  serverAuthorityName,
} from "../../features/certificates/authorities/data-directory-authorities.ts";
import type { DataDirectoryAuthorities } from "../../features/certificates/authorities/data-directory-authorities.ts";
import type { RotatableAuthority } from "../../features/certificates/authorities/rotatable-authority.ts";
import { bySigner, wellKnownSigners } from "../../features/certificates/signers/well-known-signers.ts";
import type { SignerShortName } from "../../features/certificates/signers/well-known-signers.ts";
import type { AccountSettings } from "../../features/accounts/settings.ts";
import type { TokenKeys } from "../../features/accounts/keys/token-keys.ts";
import { sealingKeyFile } from "../../machinery/keys/sealing-key.ts";
import type { SealingKey } from "../../machinery/keys/sealing-key.ts";
import type { Store } from "../../machinery/storage/store.ts";
import { storedEntry } from "../../machinery/storage/stored-entries.ts";
import { serverRuns } from "./refuse-running-server.ts";

/**
 * The CAs and keys that all replicas of a server must share, so that they trust each other's tokens and certificates.
 */
interface ReplicaIdentity {
  readonly authorities: DataDirectoryAuthorities;
  readonly sealingKey: SealingKey;
  readonly tokenKeys: TokenKeys;
  /** Where the key that signs tokens is: in the operator's file, in a token, with an external signer, or in the store. */
  readonly settings: Pick<AccountSettings, "signingKey">;
}

/** Recorded instead of the ID of a key or a CA that is in the store, because all replicas share it. */
const inStore = "in the store";

/** Recorded instead of the ID of a key when an external signer has the keys. */
const ofExternalSigner = "of the external signer";

/** Outside of /registry/, which contains the objects. The record contains only fingerprints, no secrets. */
const key = "/replicas/identity";

interface Recorded {
  readonly authority: string;
  /**
   * The fingerprints of the signers' CAs, by short name. Versions with one CA for everything did not record them: then the server's
   * fingerprint stands for each.
   */
  readonly ofSigner: Readonly<Record<SignerShortName, string>>;
  readonly signingKeyId: string;
  /** Earlier versions did not record it. */
  readonly sealingKeyId: string | undefined;
}

/**
 * Compares this replica's CAs and sealing key with the record of the first replica in the store. Throws UsageError for a replica that would
 * refuse certificates of the others, or can't open the keys in the store. Call it before anything is written to the store.
 */
export async function checkReplicaFiles(
  store: Store,
  identity: Pick<ReplicaIdentity, "authorities" | "sealingKey">,
): Promise<void> {
  const { recorded } = await readRecorded(store);
  if (recorded !== undefined) checkFiles(recorded, identity);
}

/**
 * Compares the token keys in the same way, and records what is not recorded yet. Throws UsageError for a replica that would refuse tokens
 * of the others. The operator's signing key can change once all replicas verify with the new key.
 */
export async function checkReplicaIdentity(store: Store, identity: ReplicaIdentity): Promise<void> {
  const { tokenKeys } = identity;
  const own: Recorded = {
    ...fingerprintsOf(identity),
    signingKeyId: signingKeyIdOf(identity),
  };
  for (;;) {
    const { recorded, revision } = await readRecorded(store);
    if (recorded !== undefined) {
      checkFiles(recorded, identity);
      checkTokenKeys(recorded, { own, tokenKeys });
    }
    if (isDeepStrictEqual(recorded, own)) return;
    const value = Buffer.from(JSON.stringify(own));
    const { isWritten } = await store.write({ key, value, expectedRevision: revision });
    if (isWritten) return;
  }
}

/**
 * The ID of the key that signs tokens. The operator's key takes precedence. An external signer may change its keys at any time, so it has
 * one ID.
 */
function signingKeyIdOf({ settings: { signingKey }, tokenKeys }: ReplicaIdentity): string {
  if ("externalSigner" in signingKey) return ofExternalSigner;
  return "file" in signingKey || "inToken" in signingKey ? (tokenKeys.verification().all[0]?.kid ?? "") : inStore;
}

async function readRecorded(
  store: Store,
): Promise<{ readonly recorded: Recorded | undefined; readonly revision: number }> {
  const entry = await storedEntry(store, key);
  return { recorded: entry && parseRecorded(entry.value), revision: entry?.modRevision ?? 0 };
}

const fingerprintsOf = ({
  authorities,
  sealingKey,
}: Pick<ReplicaIdentity, "authorities" | "sealingKey">): Omit<Recorded, "signingKeyId"> => ({
  authority: identityOf(authorities.server),
  ofSigner: bySigner((shortName) => identityOf(authorities.ofSigner[shortName])),
  sealingKeyId: sealingKey.id,
});

/** The text that identifies a CA in the record. A CA that was rotated is in the store, so all replicas share it. */
const identityOf = (authority: RotatableAuthority): string =>
  authority.isInStore ? inStore : fingerprintOf(authority.current().certificate);

function checkFiles(recorded: Recorded, identity: Pick<ReplicaIdentity, "authorities" | "sealingKey">): void {
  const own = fingerprintsOf(identity);
  if (own.authority !== inStore && recorded.authority !== own.authority) {
    throw new UsageError(
      "this replica's CA differs from that of the other replicas on this etcd: copy the same ca.crt and ca.key into all data directories",
    );
  }
  const others = wellKnownSigners.filter(
    ({ shortName }) => own.ofSigner[shortName] !== inStore && recorded.ofSigner[shortName] !== own.ofSigner[shortName],
  );
  if (others.length > 0) {
    const files = others.map(({ shortName }) => `${authorityFileName(shortName)}.crt`).join(", ");
    throw new UsageError(
      `this replica's signer CAs differ from those of the other replicas on this etcd (${files}): copy the same ` +
        "*-ca.crt and *-ca.key into all data directories, or remove them if the other replicas have none",
    );
  }
  refuseOtherSealingKey(identity.sealingKey, recorded.sealingKeyId);
}

/**
 * Throws UsageError for a data directory whose CAs differ from those of the replicas on this store. It compares only files, not CAs that
 * are in the store.
 */
export async function refuseOtherDataDirectory(store: Store, dataDirectory: string): Promise<void> {
  const { recorded } = await readRecorded(store);
  if (recorded === undefined) return;
  const files = authorityFiles(dataDirectory);
  const server = join(dataDirectory, serverAuthorityName);
  const wanted = [
    [server, recorded.authority] as const,
    ...wellKnownSigners.map(
      ({ shortName }) => [files.get(authorityFileName(shortName)) ?? server, recorded.ofSigner[shortName]] as const,
    ),
  ];
  for (const [file, fingerprint] of wanted) {
    if (fingerprint === inStore || fingerprint === fingerprintInFile(`${file}.crt`)) continue;
    throw new UsageError(
      `--data-dir: ${dataDirectory} is not the data directory of a server on this etcd: ${file}.crt is not the CA that its servers have`,
    );
  }
}

function fingerprintInFile(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  const [signing] = parseSettingsFile({ flag: "data-dir", file }, parseCertificatesPem);
  return signing && fingerprintOf(signing);
}

/** The ID of the sealing key that all replicas share. Undefined: there are no replicas, or an earlier version made the record. */
export const readSharedSealingKeyId = async (store: Store): Promise<string | undefined> =>
  (await readRecorded(store)).recorded?.sealingKeyId;

/** Replaces the recorded ID of the sealing key, if there is one. No replica may run at the same time. */
export async function recordSealingKey(store: Store, { id }: SealingKey): Promise<void> {
  const { recorded, revision } = await readRecorded(store);
  if (recorded?.sealingKeyId === undefined || recorded.sealingKeyId === id) return;
  const value = Buffer.from(JSON.stringify({ ...recorded, sealingKeyId: id }));
  const { isWritten } = await store.write({ key, value, expectedRevision: revision });
  if (!isWritten) throw serverRuns("it has recorded its keys at this moment");
}

/** Throws UsageError for a key other than the sealing key that all replicas share. */
export function refuseOtherSealingKey({ id }: SealingKey, sharedId: string | undefined): void {
  if (sharedId === undefined || sharedId === id) return;
  throw new UsageError(
    "this replica cannot open the keys that the other replicas on this etcd have in the store: copy the same " +
      `${sealingKeyFile} into all data directories, or, when it is lost, give up what it opens (signet keys reseal)`,
  );
}

function checkTokenKeys(
  { signingKeyId }: Recorded,
  { own, tokenKeys }: { readonly own: Recorded; readonly tokenKeys: TokenKeys },
): void {
  if (signingKeyId === inStore || signingKeyId === own.signingKeyId) return;
  if (signingKeyId === ofExternalSigner) {
    throw new UsageError(
      "this replica cannot verify the tokens of the other replicas, which an external signer signs: set the same " +
        "--service-account-signing-endpoint",
    );
  }
  if (tokenKeys.verification().byId.has(signingKeyId)) return;
  throw new UsageError(
    "this replica cannot verify the tokens of the other replicas: copy the same service-account.key into " +
      "all data directories, set the same --service-account-signing-key-file, or add the other key with --service-account-key-file",
  );
}

function parseRecorded(value: Buffer): Recorded {
  const { authority, ofSigner, signingKeyId, sealingKeyId } = jsonFields(JSON.parse(value.toString("utf8")));
  const signers = jsonFields(ofSigner);
  const recordedOf = (shortName: SignerShortName): unknown => signers[shortName] ?? authority;
  return {
    authority: String(authority),
    ofSigner: bySigner((shortName) => String(recordedOf(shortName))),
    signingKeyId: String(signingKeyId),
    sealingKeyId: typeof sealingKeyId === "string" ? sealingKeyId : undefined,
  };
}
