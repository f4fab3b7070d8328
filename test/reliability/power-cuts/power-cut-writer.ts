/**
 * Writes to a store in a new folder, and notes each write before it begins and when it is acknowledged:
 * `node power-cut-writer.ts DIRECTORY NOTES ROUNDS SEED`.
 */
import { openSync, writeSync } from "node:fs";
import { LmdbStore } from "../../../src/machinery/storage/backends/lmdb.ts";
import { formatNote } from "./power-cut-note.ts";
import type { Note } from "./power-cut-note.ts";
import { SeededRandom } from "../seeded-random.ts";

const [directory = "", notesFile = "", rounds = "", seed = ""] = process.argv.slice(2);
const random = new SeededRandom(Number(seed));
const store = new LmdbStore({ directory, profile: "platform" });
const notes = openSync(notesFile, "w");
const tell = (note: Note): void => void writeSync(notes, formatNote(note));
const revisions = new Map<string, number>();
let number = 0;

async function write(key: string): Promise<void> {
  const expectedRevision = revisions.get(key) ?? 0;
  const isDelete = expectedRevision > 0 && random.integer(1, 4) === 1;
  const content = isDelete ? 0 : (number += 1);
  const padding = " ".repeat(random.integer(1, 5) === 1 ? random.integer(0, 20_000) : random.integer(0, 800));
  const value = isDelete ? undefined : Buffer.from(`{"number":${content}}${padding}`);
  tell({ type: "begun", key, number: content });
  const result = await store.write({ key, value, expectedRevision });
  if (!result.isWritten) throw new Error(`${key} has another revision than ${expectedRevision}`);
  if (isDelete) revisions.delete(key);
  else revisions.set(key, result.revision);
  tell({ type: "acknowledged", key, number: content, revision: result.revision });
}

for (let round = 0; round < Number(rounds); round++) {
  const keys = new Set(Array.from({ length: random.integer(1, 8) }, () => `/key/${random.integer(1, 60)}`));
  await Promise.all([...keys].map(write));
  if (random.integer(1, 6) === 1) await store.compact(Math.max(1, store.latestRevision() - random.integer(0, 40)));
}
await store.close();
