import { systemClock, timestamp } from "../../../machinery/api/clock.ts";
import { print, textTableOf } from "../../../machinery/command-line/output/output.ts";
import type { OutputFlags } from "../../../machinery/command-line/output/output.ts";
import type { GeneratedAlgorithm } from "../tokens/token-key.ts";
import type { KeyStore } from "../../../machinery/keys/key-records.ts";
import { operatorKeyName, readRing, retireTokenKey, rotateTokenKey } from "./rotate-token-key.ts";
import type { TextColumn } from "../../../machinery/command-line/output/text-table.ts";
import { stateOfKey } from "./key-ring.ts";
import type { KeyRing, OperatorKeyRecord, RingKeyState } from "./key-ring.ts";

/** `signet keys list`. */
export async function runListTokenKeys({ store }: KeyStore, flags: OutputFlags): Promise<void> {
  const keys = shownKeys(await readRing({ store }), systemClock.now());
  print(
    { keys },
    { flags, text: () => textTableOf(keys, { columns, flags }), names: keys.map(({ key }) => `tokenkey/${key}`) },
  );
}

/** `signet keys rotate`. */
export async function runRotateTokenKey(
  keys: KeyStore,
  options: { readonly algorithm: GeneratedAlgorithm | undefined; readonly publishMilliseconds: number },
): Promise<void> {
  const { added, previous } = await rotateTokenKey(keys, { ...options, clock: systemClock });
  console.log(`key ${added.kid} (${added.algorithm}) is published now, and signs from ${added.signsFrom}`);
  console.log(`  ${previous.kid} signs until then; when its tokens have ended: signet keys retire ${previous.kid}`);
}

/** `signet keys retire`. */
export async function runRetireTokenKey(
  keys: KeyStore,
  { kid, isForced }: { readonly kid: string; readonly isForced: boolean },
): Promise<void> {
  await retireTokenKey(keys, { kid, isForced, clock: systemClock });
  console.log(`key ${kid} is retired: within a second, it verifies no token`);
}

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
    const state = stateOfKey(key, { ring, now });
    const until = state.type === "verifying" ? state.until : undefined;
    const { longestLifetimeSeconds: longest } = key;
    return {
      key: key.kid,
      algorithm: key.algorithm,
      state: shownStates[operatorKey !== undefined && state.type === "signing" ? "verifying" : state.type],
      signsFrom: key.signsFrom,
      ...(until !== undefined && { lastTokenEnds: timestamp(until) }),
      ...(longest !== null && { longestLifetimeSeconds: longest }),
    };
  });
  return operatorKey === undefined ? own : [...own, shownOperatorKey(operatorKey)];
}

const shownOperatorKey = (record: OperatorKeyRecord): ShownKey => ({
  key: operatorKeyName(record),
  ...("externalSigner" in record
    ? { algorithm: "<signer's>", state: "External" }
    : { algorithm: record.algorithm, state: "Operator's" }),
});

const shownStates = {
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
