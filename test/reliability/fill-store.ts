/**
 * Makes a store of 168 MB in a folder, fills the rest of the disk, and tries to write on. Prints the code of each refusal.
 *
 *   node fill-store.ts FOLDER
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { LmdbStore } from "../../src/machinery/storage/backends/lmdb.ts";
import { endProcess } from "../../src/machinery/end-process.ts";

const [, , folder = ""] = process.argv;
const store = new LmdbStore({ directory: join(folder, "store"), profile: "platform" });
const writeTogether = (name: string, { count, bytes }: { readonly count: number; readonly bytes: number }) =>
  Promise.allSettled(
    Array.from({ length: count }, (_, index) =>
      store.write({ key: `/${name}/${index}`, value: Buffer.alloc(bytes), expectedRevision: 0 }),
    ),
  );
for (let round = 0; round < 12; round++) await writeTogether(`large-${round}`, { count: 10, bytes: 1_400_000 });
try {
  writeFileSync(join(folder, "ballast"), Buffer.alloc(2 ** 27));
} catch {
  // The disk is full now.
}
const refusals = new Set<string>();
for (let round = 0; round < 40; round++) {
  for (const outcome of await writeTogether(`small-${round}`, { count: 1 + (round % 8), bytes: 100_000 })) {
    if (outcome.status === "rejected") refusals.add((outcome.reason as Error).name); // of the store
  }
}
console.log([...refusals].join());
endProcess(0); // the disk has no room for what a close writes
