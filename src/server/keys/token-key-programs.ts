import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { systemClock, timestamp } from "../../machinery/api/clock.ts";
import type { Clock } from "../../machinery/api/clock.ts";
import { CommandFailure } from "../../machinery/command-line/command-failure.ts";
import { print, textTableOf } from "../../machinery/command-line/output.ts";
import type { OutputFlags } from "../../machinery/command-line/output.ts";
import type { TextColumn } from "../../machinery/command-line/text-table.ts";
import { flushFolder } from "../../machinery/files/atomic-file.ts";
import { UnusableFile } from "../../machinery/files/unusable-file.ts";
import { changeKeyRecord, readKeyRecord } from "../../machinery/keys/key-records.ts";
import { keyRingRecord, sealedTokenKeyName, stateOfKey, withoutKey } from "../../features/accounts/keys/key-ring.ts";
import type { KeyRing, OperatorKeyRecord, RingKey, RingKeyState } from "../../features/accounts/keys/key-ring.ts";
import { withMadeKey } from "../../features/accounts/keys/open-token-keys.ts";
import type { GeneratedAlgorithm } from "../../features/accounts/tokens/token-key.ts";
import type { StoreLocation } from "../open-store.ts";
import { withKeyStore } from "./open-key-store.ts";
import type { KeyStore } from "./open-key-store.ts";
import { secretsWithTokensOf } from "./secret-tokens-of-key.ts";

/** `signet keys list`. */
export const runListTokenKeys = (location: StoreLocation, flags: OutputFlags): Promise<void> =>
  withKeyStore(location, async ({ store }) => {
    const ring = await readRing({ store });
    const keys = shownKeys(ring, systemClock.now());
    print({ keys }, flags, {
      text: () => textTableOf(keys, columns, flags),
      names: keys.map(({ key }) => `tokenkey/${key}`),
    });
  });

/** `signet keys rotate`. */
export const runRotateTokenKey = (
  location: StoreLocation,
  options: { readonly algorithm: GeneratedAlgorithm | undefined; readonly publishMilliseconds: number },
): Promise<void> =>
  withKeyStore(location, async (keys) => {
    const { added, previous } = await rotateTokenKey(keys, { ...options, clock: systemClock });
    console.log(`key ${added.kid} (${added.algorithm}) is published now, and signs from ${added.signsFrom}`);
    console.log(`  ${previous.kid} signs until then; when its tokens have ended: signet keys retire ${previous.kid}`);
  });

/** `signet keys retire`. */
export const runRetireTokenKey = (
  location: StoreLocation,
  { kid, isForced }: { readonly kid: string; readonly isForced: boolean },
): Promise<void> =>
  withKeyStore(location, async (keys) => {
    await retireTokenKey(keys, { kid, isForced, clock: systemClock });
    console.log(`key ${kid} is retired: it verifies no token from now on`);
  });

/** A key as the commands show it. */
interface ShownKey {
  readonly key: string;
  readonly algorithm: string;
  readonly state: "Published" | "Signing" | "Verifying" | "Ended" | "Operator's" | "External";
  readonly signsFrom?: string;
  /** When its last token ends. */
  readonly lastTokenEnds?: string;
  readonly longestLifetimeSeconds?: number;
}

function shownKeys(ring: KeyRing, now: number): ShownKey[] {
  const { operatorKey } = ring;
  const own = ring.keys.map((key): ShownKey => {
    const state = stateOfKey(ring, key, now);
    const until = state.type === "verifying" ? state.until : undefined;
    const { longestLifetimeSeconds: longest } = key;
    return {
      key: key.kid,
      algorithm: key.algorithm,
      state: words[operatorKey !== undefined && state.type === "signing" ? "verifying" : state.type],
      signsFrom: key.signsFrom,
      ...(until !== undefined && { lastTokenEnds: timestamp(until) }),
      ...(longest !== null && { longestLifetimeSeconds: longest }),
    };
  });
  return operatorKey === undefined ? own : [...own, shownOperatorKey(operatorKey)];
}

const shownOperatorKey = (record: OperatorKeyRecord): ShownKey =>
  "externalSigner" in record
    ? { key: record.externalSigner, algorithm: "<signer's>", state: "External" }
    : { key: record.kid, algorithm: record.algorithm, state: "Operator's" };

const words = {
  published: "Published",
  signing: "Signing",
  verifying: "Verifying",
  ended: "Ended",
} as const satisfies Record<RingKeyState["type"], ShownKey["state"]>;

const columns: readonly TextColumn<ShownKey>[] = [
  { header: "KEY", cell: ({ key }) => key },
  { header: "ALGORITHM", cell: ({ algorithm }) => algorithm },
  { header: "STATE", cell: ({ state }) => state },
  { header: "SIGNS FROM", cell: ({ signsFrom }) => signsFrom ?? "<always>" },
  {
    header: "LAST TOKEN ENDS",
    cell: ({ state, lastTokenEnds }) => lastTokenEnds ?? (state === "Verifying" ? "<unknown>" : "<none>"),
  },
  {
    header: "LONGEST LIFETIME",
    isWide: true,
    cell: ({ longestLifetimeSeconds: longest }) => (longest === undefined ? "<unknown>" : `${longest}s`),
  },
];

type Keys = Pick<KeyStore, "store" | "sealingKey" | "dataDirectory" | "names">;

/**
 * Publishes a new key, which signs after `publishMilliseconds`. Rejects with CommandFailure when another rotation is
 * under way, or the signing key is the operator's.
 */
export async function rotateTokenKey(
  { store, sealingKey }: Pick<Keys, "store" | "sealingKey">,
  {
    algorithm,
    publishMilliseconds,
    clock,
  }: { algorithm: GeneratedAlgorithm | undefined; publishMilliseconds: number; clock: Clock },
): Promise<{ readonly added: RingKey; readonly previous: RingKey }> {
  let previous: RingKey | undefined;
  const rotated = await changeKeyRecord(store, keyRingRecord, (stored) => {
    const ring = known(stored);
    if (ring.operatorKey !== undefined) throw refused(operatorAdvice(ring.operatorKey));
    const now = clock.now();
    const stateOf = (key: RingKey): RingKeyState["type"] => stateOfKey(ring, key, now).type;
    const waiting = ring.keys.find((key) => stateOf(key) === "published");
    if (waiting !== undefined) {
      throw refused(
        `a rotation is under way: ${waiting.kid} signs from ${waiting.signsFrom}; wait for that, or take it back with: ` +
          `signet keys retire ${waiting.kid}`,
      );
    }
    previous = ring.keys.find((key) => stateOf(key) === "signing");
    if (previous === undefined) throw refused(noKeys);
    // A key that the server made has one of these algorithms.
    const wanted = algorithm ?? (previous.algorithm as GeneratedAlgorithm);
    return withMadeKey(ring, wanted, { now, sealingKey, publishMilliseconds });
  });
  const added = rotated.keys.at(-1);
  if (added === undefined || previous === undefined) throw new Error("the new key is not in the record");
  return { added, previous };
}

/**
 * Removes a key: one that does not sign yet, or whose tokens have ended. `isForced`: also one with valid tokens, which are
 * refused from then on, and the key that signs where its private key is lost. Rejects with CommandFailure for all others.
 */
export async function retireTokenKey(
  keys: Keys,
  { kid, isForced, clock }: { readonly kid: string; readonly isForced: boolean; readonly clock: Clock },
): Promise<void> {
  const { store, dataDirectory } = keys;
  const ring = await readRing(keys);
  const state = refuseRetirement(ring, { kid, isForced, now: clock.now() }, keys);
  if (!isForced && state !== "published") await refuseWithSecrets(keys, kid);
  let retired: RingKey | undefined;
  await changeKeyRecord(store, keyRingRecord, (stored) => {
    const now = known(stored);
    refuseRetirement(now, { kid, isForced, now: clock.now() }, keys);
    retired = now.keys.find((key) => key.kid === kid);
    return withoutKey(now, kid);
  });
  // Afterwards: a file that stays because of a crash is not used any more.
  if (retired === undefined || !("file" in retired.privateKey)) return;
  rmSync(join(dataDirectory, retired.privateKey.file), { force: true });
  flushFolder(dataDirectory);
}

function refuseRetirement(
  ring: KeyRing,
  { kid, isForced, now }: { readonly kid: string; readonly isForced: boolean; readonly now: number },
  keys: Keys,
): RingKeyState["type"] {
  const { operatorKey } = ring;
  if (operatorKey !== undefined && shownOperatorKey(operatorKey).key === kid)
    throw refused(operatorAdvice(operatorKey));
  const key = ring.keys.find((one) => one.kid === kid);
  if (key === undefined) throw refused(`there is no key ${JSON.stringify(kid)}: signet keys list shows them`);
  const state = stateOfKey(ring, key, now);
  if (state.type === "signing" && operatorKey === undefined && !(isForced && isLost(key, keys))) {
    throw refused("this key signs: rotate first, and retire it when the new key signs (signet keys rotate)");
  }
  if (state.type !== "verifying" || isForced) return state.type;
  const when =
    state.until === undefined
      ? "an earlier version signed with it, and did not record how long its tokens live"
      : `its last token ends at ${timestamp(state.until)}`;
  throw refused(`${when}: wait for that, or refuse its tokens from now on with --force`);
}

/** Whether a private key can't be opened any more: no server with it starts. */
function isLost({ kid, privateKey }: RingKey, { sealingKey, dataDirectory }: Keys): boolean {
  if ("file" in privateKey) return !existsSync(join(dataDirectory, privateKey.file));
  try {
    sealingKey.unseal(privateKey.sealed, sealedTokenKeyName(kid));
    return false;
  } catch (error) {
    if (error instanceof UnusableFile) return true;
    throw error;
  }
}

async function refuseWithSecrets(keys: Keys, kid: string): Promise<void> {
  const { found, unreadable } = await secretsWithTokensOf(keys, kid);
  if (unreadable > 0) {
    throw refused(`${unreadable} Secrets can't be read here, and may hold tokens of this key: look, then use --force`);
  }
  if (found.length === 0) return;
  const shown = found.slice(0, 5).join(", ");
  const more = found.length > 5 ? ` and ${found.length - 5} more` : "";
  throw refused(
    `Secrets hold tokens of this key, which never end: ${shown}${more}; remove the field token from each, so that it ` +
      "gets a token of the new key, or refuse them from now on with --force",
  );
}

const readRing = async ({ store }: Pick<Keys, "store">): Promise<KeyRing> =>
  known((await readKeyRecord(store, keyRingRecord)).value);

function known(ring: KeyRing | undefined): KeyRing {
  if (ring === undefined) throw refused(noKeys);
  return ring;
}

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

const refused = (message: string): CommandFailure => new CommandFailure(message, { exit: "refused" });
