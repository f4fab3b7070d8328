import type { RootDatabase } from "lmdb";

/**
 * Throws when another process with this one's number has the store open: one in another container. LMDB tells processes apart by their
 * numbers, so it would not let this one read: it tries for ten seconds, meanwhile no process can write, and then it throws from a timer.
 * Call it before this process reads.
 */
export function checkProcessNumber(root: Pick<RootDatabase<Buffer, Buffer>, "readerList">): void {
  // A line for each process, with its number first.
  const numbers = Array.from(root.readerList().matchAll(/^ *(\d+) /gmu), ([, number]) => Number(number));
  if (!numbers.includes(process.pid)) return;
  throw new Error(
    `a process of another container, which has the same number (${process.pid}) as this one, has the store open: ` +
      "run the command in that container (podman exec)",
  );
}
