import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { loggedError } from "../../src/machinery/logging/logged-error.ts";
import { LmdbStore } from "../../src/machinery/storage/backends/lmdb.ts";
import { MemoryStore } from "../../src/machinery/storage/backends/memory.ts";
import { EncryptedStore } from "../../src/machinery/storage/encryption/encrypted-store.ts";
import { EncryptionRules } from "../../src/machinery/storage/encryption/encryption-rules.ts";
import { storeChecks } from "../../src/server/health-checks.ts";
import { put } from "../machinery/storage/store-contract.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { startTestServer } from "../test-server.ts";
import { sendInProcess } from "./in-process.ts";

/** A store in memory that says that the write under way has taken so long. */
class SlowStore extends MemoryStore {
  milliseconds = 0;

  writingMilliseconds(): number {
    return this.milliseconds;
  }
}

describe("the health check of writes", () => {
  it("passes while a write takes seconds; after more than ten it makes the server unready, not dead", async () => {
    const store = new SlowStore();
    const server = await startTestServer({ store });
    const statuses = async (): Promise<Record<string, number>> => {
      const found: Record<string, number> = {};
      for (const path of ["/readyz", "/readyz/store-writes", "/livez"]) {
        found[path] = (await sendInProcess(server, path, { token: server.adminToken })).status;
      }
      return found;
    };
    store.milliseconds = 10_000;
    assert.deepEqual(await statuses(), { "/readyz": 200, "/readyz/store-writes": 200, "/livez": 200 });
    store.milliseconds = 10_001;
    assert.deepEqual(await statuses(), { "/readyz": 500, "/readyz/store-writes": 500, "/livez": 200 });
  });

  it("tells the operator's log what to look at", () => {
    const store = new SlowStore();
    store.milliseconds = 14_500;
    const checks = storeChecks(store, { waitUntilCurrent: () => Promise.resolve() });
    assert.throws(
      () => checks.find(({ name }) => name === "store-writes")?.check(),
      (error: Error) => {
        assert.deepEqual(loggedError(error), {
          type: "FailedCheck",
          message:
            "a write has waited for 14 s: look whether the disk answers, and whether another process of this data directory is suspended",
        });
        return true;
      },
    );
  });
});

describe("the time that the LMDB store has been writing", () => {
  it("counts while a write is under way, also below encryption, and is 0 before and after", async () => {
    const directory = temporaryFolder();
    const rules = new EncryptionRules({ rules: [] });
    const store = new EncryptedStore(new LmdbStore({ directory, profile: "platform" }), {
      current: () => rules,
      refreshed: () => rules,
      onReadable: () => {},
    });
    assert.equal(store.writingMilliseconds(), 0);
    const written = put(store, "/a/1", "one");
    // The write is in the queue a few microtasks later. The queue takes it in the next turn, before the disk can answer.
    for (let steps = 0; steps < 5; steps++) await Promise.resolve();
    await nextTurn();
    assert(store.writingMilliseconds() > 0);
    await written;
    assert.equal(store.writingMilliseconds(), 0);
    await store.close();
  });
});
