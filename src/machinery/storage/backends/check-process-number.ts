import { spawnSync } from "node:child_process";
import type { RootDatabase } from "lmdb";

type ReaderList = Pick<RootDatabase<Buffer, Buffer>, "readerList">;

/**
 * Throws when another process with the same process number has the store open, which must be a process in another container. LMDB tells
 * processes apart by these numbers, so this process could not read: LMDB tries for ten seconds, in which no process can write, and then
 * throws from a timer. Call it before this process reads.
 */
export function checkProcessNumber(root: ReaderList, file: string): void {
  if (!isTaken(root)) return;
  forgetKilledProcesses(file);
  if (!isTaken(root)) return;
  throw new Error(
    `a process of another container, which has the same number (${process.pid}) as this one, has the store open: ` +
      "run the command in that container (podman exec)",
  );
}

function isTaken(root: ReaderList): boolean {
  // A line for each process, with its number first.
  const numbers = Array.from(root.readerList().matchAll(/^ *(\d+) /gmu), ([, number]) => Number(number));
  return numbers.includes(process.pid);
}

/**
 * Frees the reader slots of processes that were killed. LMDB does so at each opening, but not for the number of the opening process. A
 * server in a container always has the number 1, so a restarted server would find the slot of its predecessor.
 */
function forgetKilledProcesses(file: string): void {
  const openStore =
    "const { open } = await import(process.argv[1]);" +
    "open({ path: process.argv[2], noSubdir: true, overlappingSync: false });";
  const words = ["--input-type=module", "--eval", openStore, import.meta.resolve("lmdb"), file];
  spawnSync(process.execPath, words, { stdio: "ignore", timeout: 10_000, killSignal: "SIGKILL" });
}
