import { existsSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { messageOf } from "../../../machinery/api/thrown-error.ts";
import { writePrivateFile } from "../../../machinery/files/atomic-file.ts";
import { changeKeyRecord } from "../../../machinery/keys/key-records.ts";
import type { SealingKey } from "../../../machinery/keys/sealing-key.ts";
import type { AccountSettings } from "../settings.ts";
import { generateTokenSigningKeyPem, parseTokenSigningKey } from "../tokens/token-key.ts";
import type { GeneratedAlgorithm, TokenSigningKey } from "../tokens/token-key.ts";
import { emptyRing, keyRingRecord, sealedTokenKeyName, signingFromNow, signingKeyAt, withKey } from "./key-ring.ts";
import type { KeyRing, OperatorKeyRecord } from "./key-ring.ts";
import { readTokenKeyFile, StoredTokenKeys } from "./stored-token-keys.ts";
import type { StoredTokenKeysOptions } from "./stored-token-keys.ts";

interface OpenTokenKeysOptions extends StoredTokenKeysOptions {
  readonly settings: Pick<AccountSettings, "signingKey">;
  /** Whether other replicas have data directories of their own: then a file that is missing here must be copied from them. */
  readonly hasReplicas: boolean;
}

/**
 * Opens the token keys, and makes the first key. Several processes may do so at once: the store decides whose key is used. Rejects with
 * UnusableFile for a private key that is missing in the data directory.
 */
export async function openTokenKeys(options: OpenTokenKeysOptions): Promise<StoredTokenKeys> {
  const { store, settings, operatorKeys, clock, log } = options;
  const withCurrentKey = (stored: KeyRing | undefined): KeyRing =>
    withOperatorKey(stored ?? emptyRing, operatorKeys.current().signing?.record);
  const opened = await changeKeyRecord({ store, record: keyRingRecord }, (stored) => {
    const named = withCurrentKey(stored);
    if (!("algorithm" in settings.signingKey)) return named;
    const { algorithm } = settings.signingKey;
    const present =
      stored === undefined ? ringOfFiles(named, { ...options, algorithm }) : withoutMissing(named, options);
    return withConfiguredKey(present, {
      algorithm,
      now: clock.now(),
      sealingKey: options.sealingKey,
    });
  });
  operatorKeys.onChange(() => {
    changeKeyRecord({ store, record: keyRingRecord }, withCurrentKey).catch((error: unknown) =>
      log.error(
        { error: messageOf(error) },
        "could not write down the new signing key: signet keys shows the one before",
      ),
    );
  });
  return new StoredTokenKeys(opened, options);
}

function withOperatorKey(ring: KeyRing, record: OperatorKeyRecord | undefined): KeyRing {
  if (isDeepStrictEqual(ring.operatorKey, record)) return ring;
  const { operatorKey: _before, ...others } = ring;
  return record === undefined ? others : { ...others, operatorKey: record };
}

/** The files of the keys that a server makes at its first start, by their algorithms. */
export const firstKeyFiles = { ES256: "service-account.key", RS256: "service-account-rs256.key" } as const;
type FirstAlgorithm = keyof typeof firstKeyFiles;

/** Fills the ring of a new store with the keys of the data directory. Makes a key of the configured algorithm if the directory has none. */
function ringOfFiles(
  ring: KeyRing,
  {
    algorithm: configured,
    dataDirectory,
    clock,
  }: Pick<OpenTokenKeysOptions, "dataDirectory" | "clock"> & { readonly algorithm: FirstAlgorithm },
): KeyRing {
  // A data directory has key files of these algorithms only.
  const others = (Object.keys(firstKeyFiles) as FirstAlgorithm[]).filter((algorithm) => algorithm !== configured);
  const now = clock.now();
  const found = (algorithm: FirstAlgorithm): TokenSigningKey | undefined =>
    readTokenKeyFile(join(dataDirectory, firstKeyFiles[algorithm]));
  // Null by default: an earlier version did not record the lifetimes of the tokens that it issued.
  const add = (to: KeyRing, { key, file, longestLifetimeSeconds = null }: FirstKey) =>
    withKey(to, {
      kid: key.kid,
      algorithm: key.algorithm,
      now,
      publishMilliseconds: 0,
      longestLifetimeSeconds,
      privateKey: { file },
    });
  let filled = ring;
  for (const algorithm of others) {
    const key = found(algorithm);
    if (key !== undefined) filled = add(filled, { key, file: firstKeyFiles[algorithm] });
  }
  const file = firstKeyFiles[configured];
  const kept = found(configured);
  if (kept !== undefined) return { ...add(filled, { key: kept, file }), configuredAlgorithm: configured };
  const { pem, key } = makeTokenSigningKey(configured);
  writePrivateFile(join(dataDirectory, file), pem);
  return { ...add(filled, { key, file, longestLifetimeSeconds: 0 }), configuredAlgorithm: configured };
}

interface FirstKey {
  readonly key: TokenSigningKey;
  readonly file: string;
  readonly longestLifetimeSeconds?: 0 | null;
}

/** Makes a key whose id does not begin like a flag, because the id is an argument of commands. */
function makeTokenSigningKey(algorithm: GeneratedAlgorithm): { readonly pem: string; readonly key: TokenSigningKey } {
  for (;;) {
    const pem = generateTokenSigningKeyPem(algorithm);
    const key = parseTokenSigningKey(pem);
    if (!key.kid.startsWith("-")) return { pem, key };
  }
}

/**
 * The ring without the keys whose files the operator has deleted. With replicas the ring stays the same: a missing file must be copied from
 * another replica.
 */
function withoutMissing(ring: KeyRing, { dataDirectory, hasReplicas, log }: OpenTokenKeysOptions): KeyRing {
  if (hasReplicas) return ring;
  const keys = ring.keys.filter(({ kid, privateKey }) => {
    const file = "sealed" in privateKey ? undefined : join(dataDirectory, privateKey.file);
    if (file === undefined || existsSync(file)) return true;
    log.warn({ key: kid, file }, "a token key's file is gone: tokens that it has signed are refused from now on");
    return false;
  });
  return keys.length === ring.keys.length ? ring : { ...ring, keys };
}

/**
 * The ring where a key of the configured algorithm signs, if the setting has changed since it was last applied, or no key signs. Otherwise
 * the same ring, so that the setting does not undo rotations by command.
 */
function withConfiguredKey(
  ring: KeyRing,
  { algorithm, now, sealingKey }: { algorithm: FirstAlgorithm; now: number; sealingKey: SealingKey },
): KeyRing {
  const isObeyed = ring.configuredAlgorithm === algorithm;
  if (isObeyed && signingKeyAt(ring, now) !== undefined) return ring;
  const known = ring.keys.findLast((key) => key.algorithm === algorithm);
  const next =
    known === undefined ? withMadeKey(ring, { algorithm, now, sealingKey }) : signingFromNow(ring, { key: known, now });
  return { ...next, configuredAlgorithm: algorithm };
}

interface MadeKeyOptions {
  readonly algorithm: GeneratedAlgorithm;
  readonly now: number;
  readonly sealingKey: SealingKey;
  readonly publishMilliseconds?: number;
}

/**
 * The ring with a new key, which is published for a time before it signs. Throws UnusableFile when the sealing key does not open the
 * present keys: processes with the right sealing key could not open the new key.
 */
export function withMadeKey(
  ring: KeyRing,
  { algorithm, now, sealingKey, publishMilliseconds = 0 }: MadeKeyOptions,
): KeyRing {
  for (const { kid, privateKey } of ring.keys)
    if ("sealed" in privateKey) sealingKey.unseal(privateKey.sealed, sealedTokenKeyName(kid));
  const { pem, key } = makeTokenSigningKey(algorithm);
  return withKey(ring, {
    kid: key.kid,
    algorithm: key.algorithm,
    now,
    publishMilliseconds,
    privateKey: { sealed: sealingKey.seal(pem, sealedTokenKeyName(key.kid)) },
    longestLifetimeSeconds: 0,
  });
}
