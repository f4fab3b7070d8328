import type { FuzzAnswer, FuzzRequest } from "../fuzz-request.ts";

/** A server that inputs are tried on. */
export interface FuzzTarget {
  readonly adminToken: string;
  /** How many inputs it can be given at the same time. */
  readonly concurrency: number;
  /** Rejects with a NoAnswerError when no answer came within the client's patience. */
  send(request: FuzzRequest): Promise<FuzzAnswer>;
  /** What the server's main thread has spent so far. */
  cpuMilliseconds(): number;
  residentMebibytes(): number;
  /** Why the process has ended, else undefined. */
  endReason(): string | undefined;
  stop(): Promise<void>;
}

/** How long the client waits: far longer than any answer may take, so that a busy machine causes no fault. */
export const patienceMilliseconds = 30_000;

/** A connection was left hanging. */
export class NoAnswerError extends Error {}

/** A connection's end without any answer. */
export const closedWithoutAnswer: FuzzAnswer = {
  status: 0,
  headers: new Map(),
  body: Buffer.alloc(0),
  isStream: false,
};
