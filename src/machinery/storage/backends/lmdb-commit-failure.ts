import { constants } from "node:os";
import type { Database, RootDatabase } from "lmdb";
import { errorCode, messageOf } from "../../api/thrown-error.ts";
import { waitAtMost } from "../../scheduling/wait-at-most.ts";
import { StoreUnavailable, WriteOutcomeUnknown } from "../store.ts";
import { badTransactionText, damageOf, isPanic } from "./lmdb-damage.ts";
import { freeBytesIn, NoRoomOnDisk } from "./disk-room.ts";
import type { DiskRoom } from "./disk-room.ts";

/** The part of lmdb's native environment that its JavaScript calls; its types leave it out. */
interface NativeEnvironment {
  startWriting(address: number, onStatus: (status: number) => unknown): unknown;
}

/**
 * Keeps lmdb from printing an error with its stack for each commit that fails. The promise of the write reports the failure,
 * and printing blocks the process while its standard error is not read.
 */
export function silenceCommitErrors(root: RootDatabase<Buffer, Buffer>): void {
  const { env } = root as unknown as { readonly env: NativeEnvironment }; // a field that lmdb's types leave out
  const startWriting = env.startWriting.bind(env);
  const quietly: NativeEnvironment["startWriting"] = (address, onStatus) =>
    startWriting(address, (status) => withoutPrinting(() => onStatus(status)));
  Object.defineProperty(env, "startWriting", { value: quietly }); // the native one cannot be assigned to
}

/** `call` is synchronous, so no other output is lost. */
function withoutPrinting(call: () => unknown): unknown {
  const print = console.error;
  console.error = () => {};
  try {
    return call();
  } finally {
    console.error = print;
  }
}

const causeWaitMilliseconds = 100;

/** The parts of an environment that are needed to explain a failed commit. */
interface FailedEnvironment {
  readonly directory: string;
  readonly room: DiskRoom;
  readonly onBroken: (error: Error) => void;
  readonly root: Pick<RootDatabase<Buffer, Buffer>, "resetReadTxn">;
  readonly meta: Pick<Database<Buffer, string>, "getBinaryFast">;
}

/**
 * Converts the rejection of a commit, mostly an error of lmdb, to an error for clients. Nothing of the transaction was written, except for
 * WriteOutcomeUnknown: then the environment is broken, and its `onBroken` was called.
 */
export async function commitFailure(environment: FailedEnvironment, rejection: unknown): Promise<StoreUnavailable> {
  const { directory, room } = environment;
  room.requireTestWrite();
  let cause = rejection;
  if (rejection instanceof Error && "commitError" in rejection) {
    try {
      // Usually rejects soon with the system's error, but lmdb does not guarantee it.
      await waitAtMost(causeWaitMilliseconds, Promise.resolve(rejection.commitError));
    } catch (commitError) {
      cause = commitError;
    }
  }
  const reason =
    cause instanceof NoRoomOnDisk || isFull(directory)
      ? `${noSpace} (${messageOf(cause)})`
      : (reasons[systemCode(cause)] ?? badTransactionText(messageOf(cause)) ?? messageOf(cause));
  if (isBroken(environment)) {
    const broken = new WriteOutcomeUnknown(`the store can't be used until the process is restarted: ${reason}`, {
      cause,
    });
    environment.onBroken(broken);
    return broken;
  }
  return damageOf(cause) ?? new StoreUnavailable(`the store can't be written: ${reason}`, { cause });
}

const noSpace = "no space is left on the server's disk; make room";

/** Why the system refuses to write, and what to do. LMDB reports EIO also when the system has written only a part, because a quota ends. */
const reasons: Readonly<Record<string, string>> = {
  EIO: "the disk fails, or a quota is used up (i/o error)",
  ENOSPC: noSpace,
  EROFS: "the file system is read-only; mount it for writing",
  EDQUOT: "the user's disk quota is used up; make room",
  // A damaged list of free pages names pages that are far behind the file's end.
  EFBIG: "no file may be so large there (ulimit -f), or the store is damaged: signet doctor looks for that",
};

/**
 * The system's code for a failure, such as `EROFS`; empty if there is none. LMDB's errors have the code's number, and a message with
 * positions and sizes of pages, which does not help an administrator.
 */
function systemCode(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const named = Object.entries(constants.errno).find(([, number]) => number === code);
  return named?.[0] ?? errorCode(error);
}

/**
 * Whether LMDB refuses everything from now on, also reads. It does so when the system did not write the page with a
 * transaction's roots, because LMDB then does not know which roots the file has.
 */
function isBroken(environment: Pick<FailedEnvironment, "root" | "meta">): boolean {
  try {
    environment.root.resetReadTxn();
    environment.meta.getBinaryFast("revision");
    return false;
  } catch (error) {
    return isPanic(error);
  }
}

/** With less free space than this, a failed commit is taken for a full disk: a transaction may need more. */
const fewFreeBytes = 16 * 2 ** 20;

/** Whether the disk is full. LMDB reports an I/O error for pages that did not fit. */
const isFull = (directory: string): boolean => (freeBytesIn(directory) ?? Infinity) < fewFreeBytes;
