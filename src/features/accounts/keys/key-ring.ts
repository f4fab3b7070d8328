import { timestamp } from "../../../machinery/api/clock.ts";
import { keyRecord } from "../../../machinery/keys/key-records.ts";
import { leewaySeconds } from "../tokens/bound-objects.ts";
import type { GeneratedAlgorithm, VerificationKey } from "../tokens/token-key.ts";

/**
 * The token keys of all workers and replicas, as the store has them. Each key has the time from which it signs, and each process compares
 * this time with its own clock. So no process has to run at the moment of the change, and a killed process leaves nothing half done.
 */
export interface KeyRing {
  readonly version: 1;
  /** The value of `--service-account-signing-algorithm` that was last applied. */
  readonly configuredAlgorithm?: GeneratedAlgorithm;
  /** The operator's key, which signs instead of the keys below. Undefined: the keys below sign. */
  readonly operatorKey?: OperatorKeyRecord;
  /** In the order of `signsFrom`. */
  readonly keys: readonly RingKey[];
}

/** The key of `--service-account-signing-key-file`, or the socket of the external signer, which has keys of its own. */
export type OperatorKeyRecord = Pick<VerificationKey, "kid" | "algorithm"> | { readonly externalSigner: string };

export interface RingKey {
  readonly kid: string;
  readonly algorithm: string;
  /** The RFC 3339 time from which the key signs, until the next key of the ring signs. */
  readonly signsFrom: string;
  /** The longest lifetime of the key's tokens. Written before such a token is handed out. Null: unknown. */
  readonly longestLifetimeSeconds: number | null;
  readonly privateKey: PrivateKeyPlace;
}

type PrivateKeyPlace =
  /** In the data directory: keys that a server made at its first start. */
  | { readonly file: string }
  /** In the record, sealed with the data directory's sealing key. */
  | { readonly sealed: string };

export const keyRingRecord = keyRecord<KeyRing>("tokens", { content: "the token keys" });

export const emptyRing: KeyRing = { version: 1, keys: [] };

/** The name under which a private key is sealed. */
export const sealedTokenKeyName = (kid: string): string => `the token key ${kid}`;

/** The ring's key that signs at a time, in milliseconds since the epoch. Undefined: no key signs yet. */
export const signingKeyAt = (ring: KeyRing, now: number): RingKey | undefined =>
  ring.keys.findLast(({ signsFrom }) => Date.parse(signsFrom) <= now);

/** The largest expected difference between the clocks of replicas. */
const clockSkewMilliseconds = 5 * 60_000;

/** The state of a ring's key at a time. */
export type RingKeyState =
  /** Relying parties can read the key, and it signs later. */
  | { readonly type: "published" }
  | { readonly type: "signing" }
  /** Its last token ends at `until`, in milliseconds since the epoch. Undefined: unknown. */
  | { readonly type: "verifying"; readonly until: number | undefined }
  /** None of its tokens is valid any more. */
  | { readonly type: "ended" };

export function stateOfKey(
  key: RingKey,
  { ring, now }: { readonly ring: KeyRing; readonly now: number },
): RingKeyState {
  if (Date.parse(key.signsFrom) > now) return { type: "published" };
  const next = ring.keys[ring.keys.indexOf(key) + 1];
  if (next === undefined || Date.parse(next.signsFrom) > now) return { type: "signing" };
  if (key.longestLifetimeSeconds === null) return { type: "verifying", until: undefined };
  const lifetimeMilliseconds = (key.longestLifetimeSeconds + leewaySeconds) * 1000;
  const until = Date.parse(next.signsFrom) + lifetimeMilliseconds + clockSkewMilliseconds;
  return until <= now ? { type: "ended" } : { type: "verifying", until };
}

interface AddedKey extends Omit<RingKey, "signsFrom"> {
  readonly now: number;
  readonly publishMilliseconds: number;
}

/** The ring with an additional key, which signs after `publishMilliseconds`. */
export function withKey(ring: KeyRing, { kid, algorithm, now, publishMilliseconds, ...rest }: AddedKey): KeyRing {
  // In whole seconds. Without a delay the present second, so that the key signs at once. Otherwise rounded up, so that it never signs too
  // early.
  const signsFrom = publishMilliseconds === 0 ? now : Math.ceil((now + publishMilliseconds) / 1000) * 1000;
  const added: RingKey = { kid, algorithm, signsFrom: timestamp(signsFrom), ...rest };
  return withKeys(ring, [...ring.keys, added]);
}

export const withoutKey = (ring: KeyRing, kid: string): KeyRing => ({
  ...ring,
  keys: ring.keys.filter((key) => key.kid !== kid),
});

/** The ring where one of its keys signs from now on. Relying parties can already read this key. */
export function signingFromNow(ring: KeyRing, { key, now }: { readonly key: RingKey; readonly now: number }): KeyRing {
  return withKeys(ring, [...withoutKey(ring, key.kid).keys, { ...key, signsFrom: timestamp(now) }]);
}

const withKeys = (ring: KeyRing, keys: readonly RingKey[]): KeyRing => ({
  ...ring,
  keys: keys.toSorted((one, other) => Date.parse(one.signsFrom) - Date.parse(other.signsFrom)),
});

/** The ring where a key may sign tokens of a lifetime. Returns the same ring when the key may already do this, or is not in the ring. */
export function withLifetime(
  ring: KeyRing,
  { kid, lifetimeSeconds }: { readonly kid: string; readonly lifetimeSeconds: number },
): KeyRing {
  const key = ring.keys.find((one) => one.kid === kid);
  if (key === undefined || maySign(key, lifetimeSeconds)) return ring;
  const longer = { ...key, longestLifetimeSeconds: lifetimeStep(lifetimeSeconds) };
  return { ...ring, keys: ring.keys.map((one) => (one === key ? longer : one)) };
}

/** Whether the record already allows a key to sign tokens that live this long. */
export const maySign = ({ longestLifetimeSeconds: longest }: RingKey, lifetimeSeconds: number): boolean =>
  longest === null || lifetimeSeconds <= longest;

/** The shortest lifetime of tokens that can be requested. */
const shortestLifetimeSeconds = 600;

/**
 * Rounds a lifetime up to one of four steps for each doubling. Otherwise a caller who requests one second more each time would cause a
 * write each time. With these steps, there are at most 92 writes in the life of a key.
 */
export function lifetimeStep(lifetimeSeconds: number): number {
  const seconds = Math.max(lifetimeSeconds, shortestLifetimeSeconds);
  const step = 2 ** Math.floor(Math.log2(seconds)) / 4;
  return Math.ceil(seconds / step) * step;
}
