import { SqliteLock } from "../../files/sqlite-lock.ts";

/** The processes that write one chain. Ask and join only while the file of the chain is locked. */
export interface ChainWriters {
  /** Whether none of those that have joined is alive. */
  areGone(): boolean;
  join(): void;
  leave(): void;
}

/** Each process shares a lock for as long as it lives. Throws UnusableFile when the file cannot be locked. */
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
