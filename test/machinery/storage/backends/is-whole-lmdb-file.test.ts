import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { isWholeLmdbFile } from "../../../../src/machinery/storage/backends/is-whole-lmdb-file.ts";
import { LmdbStore } from "../../../../src/machinery/storage/backends/lmdb.ts";
import { put } from "../store-contract.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

/** A store's file after each of some commits, each longer than the one before. */
async function growingFile(commits: number): Promise<readonly Buffer[]> {
  const directory = temporaryFolder();
  const store = new LmdbStore({ directory, profile: "platform" });
  try {
    const states: Buffer[] = [];
    while (states.length < commits) {
      await put(store, `/key-${states.length}`, "x".repeat(200_000));
      states.push(readFileSync(join(directory, "store.mdb")));
    }
    return states;
  } finally {
    await store.close();
  }
}

describe("the check of a store's file", () => {
  it("finds it whole although another process commits between any two reads", async () => {
    const states = await growingFile(8);
    assert.ok(states.every(({ length }, index) => length > (states[index - 1]?.length ?? 0)));
    for (let from = 0; from < states.length - 3; from++) {
      let looks = 0;
      const next = (): Buffer => states[from + looks++] ?? Buffer.alloc(0);
      const read = (target: Buffer, position: number): number => next().copy(target, 0, position);
      assert.ok(isWholeLmdbFile({ bytes: () => next().length, read }), `from commit ${from} on`);
      assert.equal(looks, 3);
    }
  });

  it("finds one broken that ends before a root of its newest transaction", async () => {
    const [state = Buffer.alloc(0)] = await growingFile(1);
    const read = (target: Buffer, position: number): number => state.copy(target, 0, position);
    assert.ok(isWholeLmdbFile({ bytes: () => state.length, read }));
    assert.ok(!isWholeLmdbFile({ bytes: () => 8192, read }));
  });

  it("finds one broken whose first page has another kind or another version: LMDB would end the process", async () => {
    const [state = Buffer.alloc(0)] = await growingFile(1);
    for (const position of [0x12, 0x18, 0x1c]) {
      const changed = Buffer.from(state);
      changed.writeUInt8(changed.readUInt8(position) ^ 8, position);
      const read = (target: Buffer, from: number): number => changed.copy(target, 0, from);
      assert.ok(!isWholeLmdbFile({ bytes: () => changed.length, read }), `byte ${position}`);
    }
  });
});
