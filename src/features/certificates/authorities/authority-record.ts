import { timestamp } from "../../../machinery/api/clock.ts";
import { keyRecord } from "../../../machinery/keys/key-records.ts";

/** The CAs that were rotated by command, by the names of their files. All other CAs are only in their files. */
export interface AuthorityRecord {
  readonly version: 1;
  readonly authorities: Readonly<Record<string, RotatedAuthority>>;
}

/** The generations of a CA. All of them are trusted, and one of them signs. */
export interface RotatedAuthority {
  readonly generations: readonly Generation[];
  /** Fingerprints of generations that are not trusted any more: programs that remember them must forget them. */
  readonly retired: readonly string[];
}

export interface Generation {
  /** SHA-256 of the certificate. */
  readonly fingerprint: string;
  readonly state: "prepared" | "signing" | "replaced";
  /** The RFC 3339 time at which the CA got this state. */
  readonly since: string;
  /** `signet ca abort` does not let it sign again: its own rotation was undone, or another one has begun since. */
  readonly staysReplaced?: boolean;
  /** PEM. */
  readonly certificate: string;
  /** PEM of the private key, sealed with the data directory's sealing key. */
  readonly sealedKey: string;
}

export const authorityRecord = keyRecord<AuthorityRecord>("authorities", { content: "the CAs" });

/** The name under which a private key is sealed. */
export const sealedAuthorityName = (fingerprint: string): string => `the CA ${fingerprint}`;

type NewGeneration = Pick<Generation, "fingerprint" | "certificate" | "sealedKey">;

/** The CA from its files, as the first generation. */
export const firstGeneration = (signing: NewGeneration, now: number): RotatedAuthority => ({
  generations: [{ ...signing, state: "signing", since: timestamp(now) }],
  retired: [],
});

/** Adds a new CA, which is trusted but does not sign yet. With it a new rotation begins, so the one before can't be undone any more. */
export const withPrepared = (
  authority: RotatedAuthority,
  { prepared, now }: { readonly prepared: NewGeneration; readonly now: number },
): RotatedAuthority => ({
  ...authority,
  generations: [
    ...authority.generations.map((one) => (one.state === "replaced" ? { ...one, staysReplaced: true } : one)),
    { ...prepared, state: "prepared", since: timestamp(now) },
  ],
});

/**
 * Lets one of the CAs sign from now on. The CA that signed until now stays trusted; with `staysReplaced`, its rotation is undone. The CAs
 * are in the order in which they last signed.
 */
export function withSigning(
  { generations, ...rest }: RotatedAuthority,
  {
    fingerprint,
    now,
    staysReplaced = false,
  }: { readonly fingerprint: string; readonly now: number; readonly staysReplaced?: boolean },
): RotatedAuthority {
  const since = timestamp(now);
  const isNext = (one: Generation): boolean => one.fingerprint === fingerprint;
  const isLast = (one: Generation): boolean => one.state === "signing" && !isNext(one);
  return {
    ...rest,
    generations: [
      ...generations.filter((one) => !isNext(one) && !isLast(one)),
      ...generations.filter(isLast).map((one) => ({ ...one, state: "replaced" as const, since, staysReplaced })),
      ...generations.filter(isNext).map((one) => ({ ...one, state: "signing" as const, since, staysReplaced: false })),
    ],
  };
}

/** Removes a CA, which is then no longer trusted. */
export const withoutGeneration = (authority: RotatedAuthority, fingerprint: string): RotatedAuthority => ({
  generations: authority.generations.filter((one) => one.fingerprint !== fingerprint),
  retired: [...authority.retired, fingerprint],
});

/**
 * Removes the CAs whose private keys are lost, which are then no longer trusted. `kept` stays: its key was sealed again. It signs if the
 * signing CA was lost.
 */
export function withoutLost(
  authority: RotatedAuthority,
  {
    lost,
    kept,
    now,
  }: { readonly lost: readonly Generation[]; readonly kept: Generation | undefined; readonly now: number },
): RotatedAuthority {
  const gone = lost.map(({ fingerprint }) => fingerprint).filter((fingerprint) => fingerprint !== kept?.fingerprint);
  const { generations, retired } = gone.reduce(withoutGeneration, authority);
  if (kept === undefined) return { generations, retired };
  const { fingerprint } = kept;
  const left = { generations: generations.map((one) => (one.fingerprint === fingerprint ? kept : one)), retired };
  return generationThat(left, "signing") === undefined ? withSigning(left, { fingerprint, now }) : left;
}

/** The generation with a state. At most one generation signs, and at most one is prepared. */
export const generationThat = (
  { generations }: RotatedAuthority,
  state: "prepared" | "signing",
): Generation | undefined => generations.find((one) => one.state === state);
