import { SqliteLock } from "../../files/locks/sqlite-lock.ts";

/** The processes that write one chain. Call `areGone` and `join` only while the file of the chain is locked. */
export interface ChainWriters {
  /** Whether all processes that have joined have ended or left. */
  areGone(): boolean;
  join(): void;
  leave(): void;
}

/** Knows the writers by a shared lock that each process holds until it ends. Throws UnusableFile when the file cannot be locked. */
export function chainWriters(lockFile: string): ChainWriters {
  const lock = new SqliteLock(lockFile);
  return {
    areGone() {
      if (!lock.lockExclusive({ waitMilliseconds: 0 })) return false;
      lock.unlock();
      return true;
    },
    join: () => void lock.lockShared(),
    leave: () => lock.release(),
  };
}
