import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { orFailure } from "../../../../src/machinery/storage/backends/lmdb-damage.ts";
import {
  closeEnvironment,
  counterOf,
  openEnvironment,
} from "../../../../src/machinery/storage/backends/lmdb-environment.ts";
import type { LmdbEnvironment } from "../../../../src/machinery/storage/backends/lmdb-environment.ts";
import { storedFormat } from "../../../../src/machinery/storage/backends/lmdb-format.ts";
import {
  decodeLogRecord,
  encodeHead,
  encodeLogRecord,
  encodeRevision,
  isIntact,
  isOfKey,
} from "../../../../src/machinery/storage/backends/lmdb-records.ts";
import { LmdbStore } from "../../../../src/machinery/storage/backends/lmdb.ts";
import { everyKey, singleKeyRange } from "../../../../src/machinery/storage/key-range.ts";
import { StoreDamaged } from "../../../../src/machinery/storage/store.ts";
import type { Entry, Head } from "../../../../src/machinery/storage/store.ts";
import { damageWrite } from "./damage-write.ts";
import { put, takeChanges } from "../store-contract.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

const openBrace = "{".charCodeAt(0);
const zeros = Buffer.alloc(50);
type Log = LmdbEnvironment["log"];

describe("a record of the LMDB store's log", () => {
  const revision = fc.nat({ max: 2 ** 31 });
  const record = fc.record({
    key: fc.string({ unit: "binary", maxLength: 40 }),
    value: fc.option(
      fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
      { nil: undefined },
    ),
    createRevision: revision,
    previousRevision: revision,
  });

  it("is read as it was written, and is intact", () => {
    fc.assert(
      fc.property(record, (written) => {
        const encoded = encodeLogRecord(written);
        assert.equal(isIntact(encoded), true);
        assert.deepEqual(decodeLogRecord(encoded), { ...written });
        const { key } = written;
        const others = [`${key}a`, key.slice(1), `${key.slice(0, -1)}é`].filter((other) => other !== key);
        assert.deepEqual(
          [key, ...others].filter((one) => isOfKey(encoded, one)),
          [key],
        );
      }),
    );
  });

  it("is not intact when any one bit of it is another one, or its end is missing", () => {
    fc.assert(
      fc.property(record, fc.nat(), (written, random) => {
        const encoded = encodeLogRecord(written);
        for (let length = 0; length < encoded.length; length++)
          assert.equal(isIntact(encoded.subarray(0, length)), false);
        const bit = random % (encoded.length * 8);
        encoded.writeUInt8(encoded.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
        assert.equal(isIntact(encoded), false);
      }),
    );
  });
});

describe("a damaged LMDB store", () => {
  const withStore =
    (
      how: "lost" | "changed",
      test: (
        store: LmdbStore,
        made: { readonly old: number; readonly last: number; readonly directory: string },
      ) => Promise<void>,
    ) =>
    async (): Promise<void> => {
      const directory = temporaryFolder();
      const path = join(directory, "store");
      const store = new LmdbStore({ directory: path, profile: "platform" });
      try {
        const old = await put(store, "/a/1", '{"a":"old"}');
        const last = await put(store, "/a/1", '{"a":"a long value"}');
        await put(store, "/a/2", '{"a":"other"}');
        await damageWrite(path, { key: "/a/1", how });
        await test(store, { old, last, directory: path });
      } finally {
        await store.close();
      }
    };
  const found = {
    lost: "a write of /a/1 is missing",
    changed: "the write of /a/1 is not as it was written",
  };
  const textOf = (entry: Entry | Head): string =>
    `${entry.key} ${entry.value === undefined ? "later" : (entry.unreadable ?? entry.value.toString())}`;

  for (const how of ["lost", "changed"] as const) {
    const isDamage = { name: "StoreDamaged", found: `the store's file is damaged (${found[how]})` };

    it(
      `fails a read of a write that is ${how}, names the key, and says that a backup helps`,
      withStore(how, async (store) => {
        await assert.rejects(store.range(everyKey), isDamage);
        await assert.rejects(store.range(everyKey), /; restore a backup \(signet restore\), or give up what/);
        const { entries } = await store.range(singleKeyRange("/a/2"));
        assert.deepEqual(entries.map(textOf), ['/a/2 {"a":"other"}']);
      }),
    );

    it(
      `shows a write that is ${how} as unreadable to those who ask for it, and all others as they are`,
      withStore(how, async (store) => {
        const expected = [`/a/1 ${isDamage.found}`, '/a/2 {"a":"other"}'];
        const { entries } = await store.range({ ...everyKey, showsDamaged: true });
        assert.deepEqual(entries.map(textOf), expected);
        const heads = await store.rangeOfHeads({ ...everyKey, showsDamaged: true, firstByte: 0 });
        assert.deepEqual(heads.entries.map(textOf), expected);
      }),
    );

    it(
      `has no value for a write that is ${how} where values are read later`,
      withStore(how, async (store, { last }) => {
        const { entries } = await store.rangeOfHeads({ ...everyKey, firstByte: openBrace });
        assert.deepEqual(entries.map(textOf), ["/a/1 later", "/a/2 later"]);
        assert.equal(store.valueAt({ key: "/a/1", revision: last }), undefined);
      }),
    );

    it(
      `takes a write over one that is ${how}, and is sound then`,
      withStore(how, async (store, { last }) => {
        const request = { key: "/a/1", value: Buffer.from("{}"), expectedRevision: last };
        assert.deepEqual(await store.write(request), { isWritten: true, revision: store.latestRevision() });
        const { entries } = await store.range(everyKey);
        assert.deepEqual(entries.map(textOf), ["/a/1 {}", '/a/2 {"a":"other"}']);
      }),
    );

    it(
      `refuses a write that would have to show one that is ${how}, and no other write of the same moment`,
      withStore(how, async (store) => {
        const value = Buffer.from("{}");
        const [conflict, other] = await Promise.allSettled([
          store.write({ key: "/a/1", value, expectedRevision: 0 }),
          store.write({ key: "/a/3", value, expectedRevision: 0 }),
        ]);
        assert.ok(conflict.status === "rejected" && conflict.reason instanceof StoreDamaged);
        assert.deepEqual(other, { status: "fulfilled", value: { isWritten: true, revision: store.latestRevision() } });
      }),
    );
  }

  it(
    "is found where the write of another key is in a write's place",
    withStore("lost", async (store, { last, directory }) => {
      const environment = openEnvironment({ directory, profile: "platform" });
      const other = { key: "/b", value: Buffer.from("{}"), createRevision: last, previousRevision: 0 };
      await environment.log.put(encodeRevision(last), encodeLogRecord(other));
      await closeEnvironment(environment);
      await assert.rejects(store.range(everyKey), { found: `the store's file is damaged (${found.lost})` });
      assert.equal(store.valueAt({ key: "/a/1", revision: last }), undefined);
    }),
  );

  for (const [what, damage] of [
    ["is lost", (log: Log, revision: Buffer) => log.remove(revision)],
    [
      "is all zeros, as a write of format 1 that deletes no key",
      (log: Log, revision: Buffer) => log.put(revision, zeros),
    ],
  ] as const) {
    it(
      `ends a watch that comes to a write that ${what}`,
      withStore("changed", async (store, { last, directory }) => {
        await put(store, "/a/3", "{}");
        const environment = openEnvironment({ directory, profile: "platform" });
        await damage(environment.log, encodeRevision(last + 1));
        await closeEnvironment(environment);
        await assert.rejects(takeChanges(store, { afterRevision: last, count: 1 }), { name: "StoreDamaged" });
      }),
    );
  }

  it(
    "is found where a head leads to an earlier write of its key",
    withStore("changed", async (store, { old, last, directory }) => {
      await store.write({ key: "/a/1", value: Buffer.from('{"a":"new"}'), expectedRevision: last });
      const environment = openEnvironment({ directory, profile: "platform" });
      const key = Buffer.from("/a/1");
      await environment.heads.put(key, environment.heads.get(key) ?? assert.fail("it has a head"), old);
      await closeEnvironment(environment);
      const { entries } = await store.rangeOfHeads({ ...everyKey, firstByte: openBrace, showsDamaged: true });
      assert.deepEqual(entries.map(textOf), [`/a/1 the store's file is damaged (${found.lost})`, "/a/2 later"]);
    }),
  );

  it(
    "fails a read at an earlier revision whose write is lost, and not one from before the object was there",
    withStore("changed", async (store, { old, last, directory }) => {
      await store.compact(old - 1);
      const environment = openEnvironment({ directory, profile: "platform" });
      await environment.log.remove(encodeRevision(old));
      await closeEnvironment(environment);
      const isLost = { found: `the store's file is damaged (${found.lost})` };
      await assert.rejects(store.range({ ...everyKey, revision: old }), isLost);
      const { entries } = await store.range({ ...singleKeyRange("/a/2"), revision: last });
      assert.deepEqual(entries, []);
    }),
  );

  it(
    "fails a read at an earlier revision where a head leads to a write of another key",
    withStore("lost", async (store, { old, last, directory }) => {
      const other = await put(store, "/b", "{}");
      await store.write({ key: "/a/1", value: Buffer.from("{}"), expectedRevision: last });
      const newest = store.latestRevision();
      const environment = openEnvironment({ directory, profile: "platform" });
      const head = encodeHead(Buffer.from("{}"), { previousRevision: other, revision: newest });
      await environment.heads.put(Buffer.from("/a/1"), head, newest);
      await closeEnvironment(environment);
      const isLost = { found: `the store's file is damaged (${found.lost})` };
      for (const revision of [old, last]) await assert.rejects(store.range({ ...everyKey, revision }), isLost);
    }),
  );

  it(
    "ends a read of the history that comes to a changed delete, which may be of its prefix",
    withStore("changed", async (store, { directory }) => {
      const made = await put(store, "/b/1", "{}");
      const deleted = await store.write({ key: "/b/1", value: undefined, expectedRevision: made });
      assert.ok(deleted.isWritten);
      const environment = openEnvironment({ directory, profile: "platform" });
      const record = Buffer.from(environment.log.get(encodeRevision(deleted.revision)) ?? assert.fail("it is logged"));
      record.write("c", record.indexOf("/b/1") + 1);
      await environment.log.put(encodeRevision(deleted.revision), record);
      await closeEnvironment(environment);
      const history = { afterRevision: made, untilRevision: deleted.revision, limit: 10, maximumBytes: 1000 };
      await assert.rejects(store.readLog({ ...history, prefix: "/b/" }), { name: "StoreDamaged" });
    }),
  );

  it(
    "ends a watch and a read of the history that come to a changed write",
    withStore("changed", async (store, { old, last }) => {
      const isDamage = { name: "StoreDamaged" };
      await assert.rejects(takeChanges(store, { afterRevision: old, count: 1 }), isDamage);
      const history = { prefix: "/a/", untilRevision: last, limit: 10, maximumBytes: 1000 };
      await assert.rejects(store.readLog({ ...history, afterRevision: old }), isDamage);
      await assert.rejects(store.readLog({ ...history, afterRevision: old - 1 }), isDamage);
    }),
  );

  it(
    "ends a read of the history that comes to a lost write, also of another prefix",
    withStore("lost", async (store, { old, last }) => {
      for (const untilRevision of [last, last + 1]) {
        const history = { prefix: "/b/", afterRevision: old, untilRevision, limit: 10, maximumBytes: 1000 };
        await assert.rejects(store.readLog(history), { found: /the write of revision \d+ is missing/ });
      }
    }),
  );

  it(
    "loses nothing more when history is removed: a changed write does not say which one it replaced",
    withStore("changed", async (store, { old, last }) => {
      await store.write({ key: "/a/1", value: Buffer.from("{}"), expectedRevision: last });
      await store.compact(store.latestRevision());
      assert.equal(store.valueAt({ key: "/a/1", revision: old })?.toString(), '{"a":"old"}');
      const { entries } = await store.range(everyKey);
      assert.deepEqual(entries.map(textOf), ["/a/1 {}", '/a/2 {"a":"other"}']);
    }),
  );

  it("says that a backup helps when LMDB finds a page damaged, and nothing else of other errors", () => {
    const failing = (message: string) => (): never => {
      throw new Error(message);
    };
    for (const message of [
      "MDB_CORRUPTED: Located page was wrong type",
      "MDB_PAGE_NOTFOUND: Requested page not found",
    ]) {
      assert.throws(() => orFailure(failing(message)), {
        name: "StoreDamaged",
        message: `the store's file is damaged (${message}); ${StoreDamaged.advice}`,
      });
    }
    assert.throws(() => orFailure(failing("MDB_BAD_RSLOT")), { name: "Error", message: "MDB_BAD_RSLOT" });
  });

  it("says that the process ends where LMDB refuses everything after a write that failed", () => {
    const failing = (): never => {
      throw new Error("Invalid argument: MDB_PANIC: Update of meta page failed or environment had fatal error");
    };
    assert.throws(() => counterOf({ meta: { getBinaryFast: failing } }, "revision"), {
      name: "StoreUnavailable",
      message: "its disk failed in a write, and the process ends",
    });
  });

  it("says that signet doctor helps where LMDB fails a read or an opening without a reason", () => {
    const failing = (): never => {
      throw new Error("MDB_BAD_TXN: Transaction must abort");
    };
    for (const read of [() => counterOf({ meta: { getBinaryFast: failing } }, "revision"), () => orFailure(failing)]) {
      assert.throws(read, {
        name: "StoreUnavailable",
        message: "signet doctor looks for damage of the store (MDB_BAD_TXN: Transaction must abort)",
      });
    }
  });
});

describe("an LMDB store whose revision is damaged", () => {
  it("is not opened: it would leave out its newest writes, and replace them", async () => {
    const directory = temporaryFolder();
    const options = { directory: join(directory, "store"), profile: "platform" };
    const set = async (name: string, counter: number): Promise<void> => {
      const environment = openEnvironment(options);
      await environment.meta.put(name, Buffer.alloc(0), counter);
      await closeEnvironment(environment);
    };
    for (const name of ["revision", "compacted", "swept"]) {
      const store = new LmdbStore(options);
      const revision = await put(store, `/${name}/a`, "{}");
      await put(store, `/${name}/b`, "{}");
      await store.close();
      await set(name, name === "revision" ? revision : revision + 2);
      assert.throws(() => new LmdbStore(options), {
        message: /store\.mdb is damaged \(its revision\); restore a backup/,
      });
      rmSync(options.directory, { recursive: true });
    }
  });
});

describe("an LMDB store of format 1, whose records have no checksum", () => {
  it("is read as it is, and has format 2 from the first write on", async () => {
    const directory = temporaryFolder();
    const path = join(directory, "store");
    const options = { directory: path, profile: "platform" };
    const format = (version: number): string => JSON.stringify({ version, profile: "platform" });
    const environment = openEnvironment(options);
    const store = new LmdbStore(options);
    try {
      const revision = await put(store, "/a", "{}");
      await environment.log.put(encodeRevision(revision), Buffer.from("0000000000020000000000000100022f617b7d", "hex"));
      await environment.meta.put("format", Buffer.from(format(1)), 1);
      environment.root.resetReadTxn();
      const { entries } = await store.range(everyKey);
      assert.deepEqual(entries, [{ key: "/a", value: Buffer.from("{}"), createRevision: 2, modRevision: 2 }]);
      assert.equal(
        storedFormat(environment),
        format(1),
        "reads change nothing: an earlier version can still be started",
      );
      await put(store, "/b", "{}");
      assert.equal(storedFormat(environment), format(2));
    } finally {
      await store.close();
      await closeEnvironment(environment);
    }
  });
});
