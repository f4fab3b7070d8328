import type { ErrorReport } from "./grpc-clients.ts";
import type { FaultResult } from "./grpc-faults.ts";

export const valueBytes = 800;
export const rangeKeys = 5_000;
export const watchedEvents = 10_000;

/** How many operations each load makes in one round. */
export const loads = {
  "create and swap, one after the other": 400,
  "create and swap, 32 at once": 3_000,
  "get, one after the other": 800,
  "get, 32 at once": 4_000,
  "range of 5,000 keys": 5,
  "watch that catches up, 10,000 events": watchedEvents,
} as const;

export type Load = keyof typeof loads;

export type Order =
  | { readonly order: "load"; readonly load: Load; readonly watchRevision: number }
  | { readonly order: "watch"; readonly watchRevision: number }
  | { readonly order: "write until stopped" }
  | { readonly order: "stop writing" }
  | { readonly order: "call the faulty server" };

export interface Cost {
  readonly seconds: number;
  readonly cpuMicroseconds: number;
}

/** A create that failed. */
export interface FailedWrite extends ErrorReport {
  /** Milliseconds since 1970, like the other times. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** Whether etcd stored the key anyway. */
  readonly isWritten: boolean;
}

export interface WriteReport {
  /** When each successful create ended. */
  readonly successesAt: readonly number[];
  readonly failures: readonly FailedWrite[];
}

export type Answer = { readonly cost: Cost } | { readonly writes: WriteReport } | { readonly faults: FaultResult[] };

/** The keys that `grpc-bench.ts` writes first. */
export const rangeKey = (index: number): string => `/bench/range/${String(index).padStart(6, "0")}`;
export const watchedRange = { key: "/bench/watched/", rangeEnd: "/bench/watched0" };
