/** Writes, with a limit on the size of files, until the store refuses; prints which keys are written and the refusals. */
import { LmdbStore } from "../../../../src/machinery/storage/backends/lmdb.ts";
import { endProcess } from "../../../../src/machinery/end-process.ts";

process.on("SIGXFSZ", () => {}); // the write fails with EFBIG instead, as on a full disk with ENOSPC
const store = new LmdbStore({ directory: process.argv[2] ?? "", profile: "platform" });
const value = Buffer.alloc(10_000);
const written: string[] = [];
const refusals = new Set<string>();
let refusedRounds = 0;
for (let round = 0; refusedRounds < 3 && round < 1000; round++) {
  const keys = Array.from({ length: 10 }, (_, index) => `/key/${round}/${index}`);
  const results = await Promise.allSettled(keys.map((key) => store.write({ key, value, expectedRevision: 0 })));
  if (results.some(({ status }) => status === "rejected")) refusedRounds += 1;
  for (const [index, result] of results.entries()) {
    if (result.status === "fulfilled") written.push(keys[index] ?? "");
    else refusals.add(result.reason instanceof Error ? result.reason.name : "unknown");
  }
}
await store.compact(store.latestRevision()).catch((error: unknown) => {
  refusals.add(error instanceof Error ? error.name : "unknown");
});
const { entries } = await store.range({ start: "/", end: "0" });
if (entries.length !== written.length) throw new Error("the store shows a write that it has refused");
process.stdout.write(JSON.stringify({ written: written.sort(), refusals: [...refusals] }));
endProcess(0);
