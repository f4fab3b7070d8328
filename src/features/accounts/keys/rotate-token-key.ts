import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { timestamp } from "../../../machinery/api/clock.ts";
import type { Clock } from "../../../machinery/api/clock.ts";
import { commandRefused } from "../../../machinery/command-line/command-failure.ts";
import { flushFolder } from "../../../machinery/files/atomic-file.ts";
import { UnusableFile } from "../../../machinery/files/unusable-file.ts";
import { changeKeyRecord, readKeyRecord } from "../../../machinery/keys/key-records.ts";
import { keyRingRecord, sealedTokenKeyName, stateOfKey, withoutKey } from "./key-ring.ts";
import type { KeyRing, OperatorKeyRecord, RingKey, RingKeyState } from "./key-ring.ts";
import { firstKeyFiles, withMadeKey } from "./open-token-keys.ts";
import { readTokenKeyFile } from "./stored-token-keys.ts";
import type { GeneratedAlgorithm } from "../tokens/token-key.ts";
import type { KeyStore } from "../../../machinery/keys/key-records.ts";
import { parseToken } from "../tokens/json-web-token.ts";
import { decodedText, secretResource } from "../../core/index.ts";
import type { Secret } from "../../core/index.ts";
import { resourceRange } from "../../../machinery/registry/stored/storage-key.ts";
import { storedEntries } from "../../../machinery/storage/stored-entries.ts";

/**
 * Publishes a new key, which signs after `publishMilliseconds`. Rejects with CommandFailure when another rotation is
 * under way, or the signing key is the operator's.
 */
export async function rotateTokenKey(
  { store, sealingKey }: Pick<KeyStore, "store" | "sealingKey">,
  {
    algorithm,
    publishMilliseconds,
    clock,
  }: { algorithm: GeneratedAlgorithm | undefined; publishMilliseconds: number; clock: Clock },
): Promise<{ readonly added: RingKey; readonly previous: RingKey }> {
  let previous: RingKey | undefined;
  const { value: rotated } = await changeKeyRecord({ store, record: keyRingRecord }, (stored) => {
    const ring = presentRing(stored);
    if (ring.operatorKey !== undefined) throw commandRefused(operatorAdvice(ring.operatorKey));
    const now = clock.now();
    const stateOf = (key: RingKey): RingKeyState["type"] => stateOfKey(key, { ring, now }).type;
    const waiting = ring.keys.find((key) => stateOf(key) === "published");
    if (waiting !== undefined) {
      throw commandRefused(
        `a rotation is under way: ${waiting.kid} signs from ${waiting.signsFrom}; wait for that, or undo it with: ` +
          `signet keys retire ${waiting.kid}`,
      );
    }
    previous = ring.keys.find((key) => stateOf(key) === "signing");
    if (previous === undefined) throw commandRefused(noKeys);
    // A key that the server made has one of these algorithms.
    const wanted = algorithm ?? (previous.algorithm as GeneratedAlgorithm);
    return withMadeKey(ring, { algorithm: wanted, now, sealingKey, publishMilliseconds });
  });
  const added = rotated.keys.at(-1);
  if (added === undefined || previous === undefined) throw new Error("the new key is not in the record");
  return { added, previous };
}

/**
 * Removes a key that does not sign yet, or whose tokens have all ended. With `isForced`, also removes a key with valid tokens, which are
 * refused from then on, and the signing key if its private key is lost. Completes a retirement that was interrupted. Rejects with
 * CommandFailure for all other keys.
 */
export async function retireTokenKey(
  keys: KeyStore,
  { kid, isForced, clock }: { readonly kid: string; readonly isForced: boolean; readonly clock: Clock },
): Promise<void> {
  const { store, dataDirectory } = keys;
  const ring = await readRing(keys);
  const left = ring.keys.some((key) => key.kid === kid) ? undefined : fileOfKey(kid, dataDirectory);
  if (left !== undefined) return removeKeyFile(left, dataDirectory);
  const state = refuseRetirement(ring, { kid, isForced, now: clock.now(), keys });
  if (!isForced && state !== "published") await refuseWithSecrets(keys, kid);
  let retired: RingKey | undefined;
  await changeKeyRecord({ store, record: keyRingRecord }, (stored) => {
    const present = presentRing(stored);
    refuseRetirement(present, { kid, isForced, now: clock.now(), keys });
    retired = present.keys.find((key) => key.kid === kid);
    return withoutKey(present, kid);
  });
  // After the change of the ring: a file that a crash leaves behind is not used any more.
  if (retired !== undefined && "file" in retired.privateKey) removeKeyFile(retired.privateKey.file, dataDirectory);
}

/** The file of the data directory with this key. Undefined when there is none. */
const fileOfKey = (kid: string, dataDirectory: string): string | undefined =>
  Object.values(firstKeyFiles).find((file) => readTokenKeyFile(join(dataDirectory, file))?.kid === kid);

function removeKeyFile(file: string, dataDirectory: string): void {
  rmSync(join(dataDirectory, file), { force: true });
  flushFolder(dataDirectory);
}

interface Retirement {
  readonly kid: string;
  readonly isForced: boolean;
  readonly now: number;
  readonly keys: KeyStore;
}

function refuseRetirement(ring: KeyRing, { kid, isForced, now, keys }: Retirement): RingKeyState["type"] {
  const { operatorKey } = ring;
  if (operatorKey !== undefined && operatorKeyName(operatorKey) === kid)
    throw commandRefused(operatorAdvice(operatorKey));
  const key = ring.keys.find((one) => one.kid === kid);
  if (key === undefined) throw commandRefused(`there is no key ${JSON.stringify(kid)}: signet keys list shows them`);
  const state = stateOfKey(key, { ring, now });
  if (state.type === "signing" && operatorKey === undefined && !(isForced && isLost(key, keys))) {
    throw commandRefused("this key signs: rotate first, and retire it when the new key signs (signet keys rotate)");
  }
  if (state.type !== "verifying" || isForced) return state.type;
  const when =
    state.until === undefined
      ? "an earlier version signed with it, and did not record how long its tokens live"
      : `its last token ends at ${timestamp(state.until)}`;
  throw commandRefused(`${when}: wait for that, or refuse its tokens from now on with --force`);
}

/** Whether a private key can't be opened any more. No server starts with such a key. */
function isLost({ kid, privateKey }: RingKey, keys: KeyStore): boolean {
  if ("file" in privateKey) return !existsSync(join(keys.dataDirectory, privateKey.file));
  try {
    keys.sealingKey.unseal(privateKey.sealed, sealedTokenKeyName(kid));
    return false;
  } catch (error) {
    if (error instanceof UnusableFile) return true;
    throw error;
  }
}

async function refuseWithSecrets(keys: KeyStore, kid: string): Promise<void> {
  const { found, unreadable } = await secretsWithTokensOf(keys, kid);
  if (unreadable > 0) {
    throw commandRefused(
      `${unreadable} Secrets can't be read here, and may hold tokens of this key: look, then use --force`,
    );
  }
  if (found.length === 0) return;
  const shown = found.slice(0, 5).join(", ");
  const more = found.length > 5 ? ` and ${found.length - 5} more` : "";
  throw commandRefused(
    `Secrets hold tokens of this key, which never end: ${shown}${more}; remove the field token from each, so that it ` +
      "gets a token of the new key, or refuse them from now on with --force",
  );
}

export const readRing = async ({ store }: Pick<KeyStore, "store">): Promise<KeyRing> =>
  presentRing((await readKeyRecord(store, keyRingRecord)).value);

/** Throws CommandFailure for a store in which no server has made keys yet. */
function presentRing(ring: KeyRing | undefined): KeyRing {
  if (ring === undefined) throw commandRefused(noKeys);
  return ring;
}

/** The name of the operator's key in `signet keys`: its kid, or the socket of the external signer. */
export const operatorKeyName = (record: OperatorKeyRecord): string =>
  "externalSigner" in record ? record.externalSigner : record.kid;

const noKeys = "the store has no token keys yet: start signet serve once";

const operatorAdvice = (record: OperatorKeyRecord): string =>
  "externalSigner" in record
    ? `tokens are signed by the external signer at ${record.externalSigner}, which has its own keys: rotate and retire ` +
      "them there, and the server learns of it by itself"
    : ofOperator;

const ofOperator =
  "tokens are signed with the key of --service-account-signing-key-file, which is yours: add the new key to a file of " +
  "--service-account-key-file, wait until relying parties know it, then put it into the first file (or name it with a new pkcs11: " +
  "URI, and restart) and the old one into the second";

interface SecretsOfKey {
  /** `namespace/name`, sorted. */
  readonly found: readonly string[];
  /** The number of Secrets that are not plain JSON. */
  readonly unreadable: number;
}

const pageLength = 500;

/** The Secrets with a token that a key signed. These tokens do not expire. */
async function secretsWithTokensOf(
  { store, names }: Pick<KeyStore, "store" | "names">,
  kid: string,
): Promise<SecretsOfKey> {
  const found: string[] = [];
  let unreadable = 0;
  const range = resourceRange(secretResource(names));
  const secrets = storedEntries(store, { ...range, limit: pageLength });
  for await (const { key, value } of secrets) {
    const secret = secretIn(value);
    const token = secret?.data?.["token"];
    if (secret === undefined) unreadable += 1;
    else if (token !== undefined && parseToken(decodedText(token))?.header.kid === kid)
      found.push(key.slice(range.start.length));
  }
  return { found, unreadable };
}

/** Parses a stored Secret. Undefined when it is not plain JSON. */
function secretIn(value: Buffer): Secret | undefined {
  try {
    return JSON.parse(value.toString("utf8")) as Secret; // the registry validated it
  } catch {
    return undefined;
  }
}
