import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { TransactionsUnsupported } from "../../../src/machinery/storage/store.ts";
import type { WriteRequest } from "../../../src/machinery/storage/store.ts";
import { startTransaction, TransactionRefused } from "../../../src/machinery/api/transaction.ts";
import { writeInTransaction } from "../../../src/machinery/storage/write-in-transaction.ts";

const create = (key: string): WriteRequest => ({ key, value: Buffer.from("1"), expectedRevision: 0 });
const pair = () => {
  const [first, second] = startTransaction(2);
  assert.ok(first !== undefined && second !== undefined);
  return { first, second };
};

/** A store as kine's: it takes one key in a transaction. */
class SingleKeyStore extends MemoryStore {
  override async writeTogether(requests: readonly WriteRequest[]) {
    if (requests.length > 1) throw new TransactionsUnsupported();
    return super.writeTogether(requests);
  }
}

describe("a transaction of two requests", () => {
  it("is written when both writes have arrived", async () => {
    const store = new MemoryStore();
    const { first, second } = pair();
    const left = writeInTransaction(first, { store, request: create("/a") });
    assert.equal(store.latestRevision(), 1);
    const right = writeInTransaction(second, { store, request: create("/b") });
    assert.deepEqual(await Promise.all([left, right]), [
      { isWritten: true, revision: 2 },
      { isWritten: true, revision: 3 },
    ]);
  });

  it("is refused when one ends without a write, before the other's write or after it", async () => {
    const store = new MemoryStore();
    const late = pair();
    const waiting = writeInTransaction(late.first, { store, request: create("/a") });
    late.second.end();
    await assert.rejects(waiting, TransactionRefused);
    const early = pair();
    early.first.end();
    await assert.rejects(writeInTransaction(early.second, { store, request: create("/a") }), TransactionRefused);
    assert.equal(store.latestRevision(), 1);
  });

  it("reports the current object to the request that conflicts, and a refusal to the other", async () => {
    const store = new MemoryStore();
    await store.write(create("/b"));
    const { first, second } = pair();
    const innocent = assert.rejects(writeInTransaction(first, { store, request: create("/a") }), TransactionRefused);
    const guilty = await writeInTransaction(second, { store, request: create("/b") });
    assert.equal(!guilty.isWritten && guilty.current?.modRevision, 2);
    await innocent;
    await assert.rejects(
      writeInTransaction(second, { store, request: create("/b") }),
      TransactionRefused,
      "a request writes once",
    );
    assert.equal(store.latestRevision(), 2);
  });

  it("becomes separate writes when the store takes one key at a time, and stops at the first that fails", async () => {
    const store = new SingleKeyStore();
    const good = pair();
    const written = await Promise.all([
      writeInTransaction(good.first, { store, request: create("/a") }),
      writeInTransaction(good.second, { store, request: create("/b") }),
    ]);
    assert.ok(written.every(({ isWritten }) => isWritten));
    const bad = pair();
    const [taken, refused] = await Promise.allSettled([
      writeInTransaction(bad.first, { store, request: create("/a") }),
      writeInTransaction(bad.second, { store, request: create("/c") }),
    ]);
    assert.equal(taken.status === "fulfilled" && taken.value.isWritten, false);
    assert.ok(refused.status === "rejected" && refused.reason instanceof TransactionRefused);
    assert.equal(store.latestRevision(), 3);
  });
});
