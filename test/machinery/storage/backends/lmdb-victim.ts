/** Writes until it is killed; prints the key and revision of each write that was acknowledged. */
import { writeSync } from "node:fs";
import { LmdbStore } from "../../../../src/machinery/storage/backends/lmdb.ts";

const store = new LmdbStore({ directory: process.argv[2] ?? "", profile: "platform" });
const value = Buffer.alloc(5000, "v");
let next = 0;
async function writeForever(): Promise<void> {
  for (;;) {
    const key = `/key/${next++}`;
    const result = await store.write({ key, value, expectedRevision: 0 });
    if (result.isWritten) writeSync(1, `${key} ${result.revision}\n`);
  }
}
await Promise.all(Array.from({ length: 16 }, writeForever));
