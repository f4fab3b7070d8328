import assert from "node:assert/strict";
import { cpSync, rmSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { EtcdStore } from "../../../../src/machinery/storage/backends/etcd.ts";
import { EtcdClient } from "../../../../src/machinery/storage/etcd/etcd-client.ts";
import { etcdMethods } from "../../../../src/machinery/storage/etcd/etcd-methods.ts";
import {
  decodeRange,
  decodeSwap,
  encodePut,
  encodeSwap,
} from "../../../../src/machinery/storage/etcd/etcd-messages.ts";
import { EtcdPrefix } from "../../../../src/machinery/storage/etcd/etcd-prefix.ts";
import { KeySpace } from "../../../../src/machinery/storage/etcd/key-space.ts";
import { groupedRevisions, plainRevisions } from "../../../../src/machinery/storage/etcd/revision-form.ts";
import { TransactionsUnsupported, WriteAbandoned } from "../../../../src/machinery/storage/store.ts";
import type { Change, WriteResult } from "../../../../src/machinery/storage/store.ts";
import { skipsEtcd, startEtcd } from "./etcd-process.ts";
import { etcdStores } from "./etcd-stores.ts";
import type { EtcdCluster, EtcdOptions } from "./etcd-process.ts";
import { put, takeChanges } from "../store-contract.ts";
import { everyKey } from "../../../../src/machinery/storage/key-range.ts";

const step = groupedRevisions.step;

/** etcd's revision of a write that was made. */
const transactionOf = (result: WriteResult | undefined): number => {
  assert.ok(result?.isWritten);
  return groupedRevisions.etcdRevision(result.revision);
};

const create = (key: string, value = key) => ({ key, value: Buffer.from(value), expectedRevision: 0 });

const shown = ({ key, value, revision }: Change) => [key, value && String(value), revision];

describe("writes on etcd that begin together", { skip: skipsEtcd }, () => {
  let etcd: EtcdCluster;
  let client: EtcdClient;
  let stores = 0;
  const opened: EtcdStore[] = [];
  const storeOn = (cluster: EtcdCluster, prefix: string): EtcdStore => {
    const store = new EtcdStore({ servers: cluster.urls, prefix, profile: "platform", callMilliseconds: 60_000 });
    opened.push(store);
    return store;
  };
  const newStore = async (): Promise<EtcdStore> => {
    const store = storeOn(etcd, `/s${stores++}`);
    await store.open();
    return store;
  };
  before(async () => {
    etcd = await startEtcd();
    client = new EtcdClient({ servers: etcd.urls, tls: () => ({}) });
  });
  after(async () => {
    client.close();
    await Promise.all(opened.map((store) => store.close()));
    await etcd.stop();
  });

  it("are one transaction of etcd, each with a revision of its own, in their order", async () => {
    const store = await newStore();
    const results = await Promise.all(["/a", "/b", "/c"].map((key) => store.write(create(key))));
    const [first = 0, second, third] = results.map((result) => (result.isWritten ? result.revision : 0));
    assert.deepEqual([second, third], [first + 1, first + 2]);
    assert.equal(third, await store.latestRevision());
    assert.equal(third % step, 0);
    const { entries } = await store.range(everyKey);
    assert.deepEqual(
      entries.map(({ key, value, createRevision, modRevision }) => [key, String(value), createRevision, modRevision]),
      [
        ["/a", "/a", first, first],
        ["/b", "/b", second, second],
        ["/c", "/c", third, third],
      ],
    );
  });

  it("are seen by a watch from after each of them, and by a read at each of them", async () => {
    const store = await newStore();
    const earlier = await put(store, "/b", "earlier");
    const results = await Promise.all([
      store.write(create("/a")),
      store.write({ key: "/b", value: Buffer.from("new"), expectedRevision: earlier }),
      store.write(create("/c")),
    ]);
    const revisions = results.map((result) => (result.isWritten ? result.revision : 0));
    const changes = [
      ["/a", "/a"],
      ["/b", "new"],
      ["/c", "/c"],
    ].map((change, index) => [...change, revisions[index]]);
    for (const [index, afterRevision] of [earlier, ...revisions.slice(0, -1)].entries()) {
      const taken = await takeChanges(store, { afterRevision, count: changes.length - index });
      assert.deepEqual(taken.map(shown), changes.slice(index));
    }
    const stateAt = async (revision: number): Promise<string[]> =>
      (await store.range({ ...everyKey, revision })).entries.map(({ key, value }) => `${key}=${String(value)}`);
    const [first = 0, second = 0, third = 0] = revisions;
    assert.deepEqual(await stateAt(first), ["/a=/a", "/b=earlier"]);
    assert.deepEqual(await stateAt(second), ["/a=/a", "/b=new"]);
    assert.deepEqual(await stateAt(third), ["/a=/a", "/b=new", "/c=/c"]);
    const part = await store.range({ ...everyKey, revision: second, limit: 2 });
    assert.deepEqual([part.entries.length, part.hasMore], [2, false]);
  });

  it("are not read where the state of their prefix was changed or removed: their revisions would go back", async () => {
    const store = await newStore();
    await put(store, "/a", "{}");
    const prefix = `/s${stores - 1}`;
    const key = `${prefix}/platform.state`;
    const again = storeOn(etcd, prefix);
    const message = encodePut(key, Buffer.from("nothing"));
    const written = await client.call({
      path: "/etcdserverpb.KV/Put",
      message,
      isRepeatable: true,
      decode: decodeRange,
    });
    await assert.rejects(again.open(), {
      message: `etcd's key ${key} was changed by another program: restore it from a snapshot of etcd`,
    });
    const removal = encodeSwap({ key, value: undefined, expectedRevision: written.revision });
    await client.call({ path: etcdMethods.transaction, message: removal, isRepeatable: false, decode: decodeSwap });
    const removed = /\.state was removed, .*; or restore a backup to another --etcd-prefix \(signet restore\)$/;
    await assert.rejects(again.open(), removed);
    await assert.rejects(again.open({ mayBegin: false }), removed);
  });

  it("succeed or fail independently", async () => {
    const store = await newStore();
    const other = await put(store, "/e", "1");
    const revision = await put(store, "/a", "1");
    const [again, second, stale, gone, last] = await Promise.all([
      store.write(create("/a")),
      store.write(create("/b")),
      store.write({ key: "/e", value: Buffer.from("2"), expectedRevision: revision }),
      store.write({ key: "/c", value: Buffer.from("2"), expectedRevision: revision }),
      store.write(create("/d")),
    ]);
    const entry = (key: string, at: number) => {
      return { key, value: Buffer.from("1"), createRevision: at, modRevision: at };
    };
    assert.deepEqual(again, { isWritten: false, current: entry("/a", revision) });
    assert.deepEqual(stale, { isWritten: false, current: entry("/e", other) });
    assert.deepEqual(gone, { isWritten: false, current: undefined });
    const taken = await takeChanges(store, { afterRevision: revision, count: 2 });
    assert.deepEqual(
      taken.map((change) => change.revision),
      [second, last].map((result) => result?.isWritten && result.revision),
    );
  });

  it("are several transactions where they are many, long, or of one key", async () => {
    const store = await newStore();
    const many = await Promise.all(
      Array.from({ length: 2 * step }, (_, index) => store.write(create(`/many/${index}`))),
    );
    assert.equal(new Set(many.map(transactionOf)).size, 2);
    const long = await Promise.all(["/a", "/b"].map((key) => store.write(create(key, "x".repeat(300_000)))));
    assert.equal(new Set(long.map(transactionOf)).size, 2);
    const same = await Promise.all(["1", "2", "3"].map((value) => store.write(create("/same", value))));
    assert.equal(same.filter(({ isWritten }) => isWritten).length, 1);
  });

  it("do not include a write that was abandoned", async () => {
    const store = await newStore();
    const waiting = new AbortController();
    const abandoned = store.write({ ...create("/a"), signal: waiting.signal });
    const others = Promise.all([store.write(create("/b")), store.write(create("/c"))]);
    waiting.abort();
    await assert.rejects(abandoned, WriteAbandoned);
    assert.equal(new Set((await others).map(transactionOf)).size, 1);
    assert.deepEqual(
      (await store.range(everyKey)).entries.map(({ key }) => key),
      ["/b", "/c"],
    );
  });

  it("are delivered in order with deletes, which other programs make in one transaction", async () => {
    const store = storeOn(etcd, "/deleted");
    await store.open();
    const keys = Array.from({ length: 2 * step }, (_, index) => `/k${index}`).sort();
    const results = await Promise.all(keys.map((key) => store.write(create(key))));
    const latest = await store.latestRevision();
    const taking = takeChanges(store, { afterRevision: latest, count: keys.length + 1 });
    // It has not opened the prefix, so it writes as other programs do.
    await storeOn(etcd, "/deleted").writeTogether(
      keys.map((key, index) => ({ key, value: undefined, expectedRevision: transactionOf(results[index]) })),
    );
    const last = await put(store, "/last", "1");
    const taken = await taking;
    assert.deepEqual(
      taken.map(({ key }) => key),
      [...keys, "/last"],
    );
    const revisions = taken.map(({ revision }) => revision);
    assert.deepEqual(
      revisions,
      [...revisions].sort((one, other) => one - other),
    );
    assert.ok((revisions[0] ?? 0) > latest);
    assert.equal(revisions.at(-1), last);
  });

  it("are not deleted yet in a read at a revision before the delete, which other programs make with writes", async () => {
    const store = storeOn(etcd, "/deleted-later");
    await store.open();
    const stateAt = async (revision: number, limit = 0): Promise<[string[], boolean]> => {
      const { entries, hasMore } = await store.range({ ...everyKey, revision, limit });
      return [entries.map(({ key, value }) => `${key}=${String(value)}`), hasMore];
    };
    const [, second] = [await put(store, "/a", "1"), await put(store, "/b", "1")];
    const deleted = await put(store, "/a", undefined);
    for (let revision = second; revision < deleted; revision++) {
      assert.deepEqual(await stateAt(revision), [["/a=1", "/b=1"], false]);
      assert.deepEqual(await stateAt(revision, 1), [["/a=1"], true]);
    }
    assert.deepEqual(await stateAt(deleted), [["/b=1"], false]);

    const [created] = await storeOn(etcd, "/deleted-later").writeTogether([
      create("/0", String(groupedRevisions.stored(Buffer.from("0"), 1))),
      { key: "/b", value: undefined, expectedRevision: groupedRevisions.etcdRevision(second) },
    ]);
    const together = groupedRevisions.storeRevision(created?.isWritten === true ? created.revision : 0);
    assert.deepEqual(await stateAt(together - 2), [["/b=1"], false]);
    assert.deepEqual(await stateAt(together - 1), [["/0=0", "/b=1"], false]);
    assert.deepEqual(await stateAt(together - 1, 1), [["/0=0"], true]);
    assert.deepEqual(await stateAt(together), [["/0=0"], false]);
  });

  it("do not wait for the watch when all are refused", async () => {
    const [store, others] = [await newStore(), await newStore()];
    await Promise.all(["/a", "/b"].map((key) => store.write(create(key))));
    const watch = store.watch({
      afterRevision: await store.latestRevision(),
      onChanges: () => assert.fail("nothing is written"),
      onProgress: () => assert.fail("nobody asks for progress"),
      onEnd: () => {},
    });
    // The newest revision of etcd is then one that no event of the store reaches.
    await put(others, "/a", "1");
    const again = await Promise.all(["/a", "/b"].map((key) => store.write(create(key))));
    assert.deepEqual(
      again.map((result) => !result.isWritten && String(result.current?.value)),
      ["/a", "/b"],
    );
    watch.stop();
  });

  it("are refused after the keys of the prefix were removed, and so is the newest revision, until a server starts with it again", async () => {
    const store = storeOn(etcd, "/removed");
    await store.open();
    const revision = await put(store, "/a", "1");
    const remover = new EtcdPrefix({
      keys: new KeySpace({ prefix: "/removed", profile: "platform" }),
      call: (call) => client.call(call),
    });
    await remover.write(undefined);
    const gone = /was removed or changed.*restart the server/;
    await assert.rejects(store.latestRevision(), gone, "before this process has written");
    await assert.rejects(Promise.all(["/b", "/c"].map((key) => store.write(create(key)))), gone);
    await assert.rejects(store.write({ key: "/a", value: undefined, expectedRevision: revision }), gone);
    await assert.rejects(store.writeTogether([create("/d")]), gone);
    assert.deepEqual(
      (await store.range(everyKey)).entries.map(({ key }) => key),
      ["/a"],
    );
  });

  it("are not read after etcd has lost some, also when it has as many again, until a server starts", async () => {
    const own = await startEtcd();
    try {
      const [member = assert.fail()] = own.members;
      const snapshot = `${member.folder}-snapshot`;
      const exchange = async (from: string, to: string): Promise<void> => {
        await member.kill();
        rmSync(to, { recursive: true, force: true });
        cpSync(from, to, { recursive: true });
        member.restart();
      };
      const [store, other] = [storeOn(own, "/signet"), storeOn(own, "/signet")];
      for (const opened of [store, other]) await opened.open();
      await put(store, "/kept", "1");
      await exchange(member.folder, snapshot);
      for (const key of ["/lost", "/lost-too"]) await put(store, key, "1");
      await Promise.all([store.latestRevision(), other.latestRevision()]);
      await exchange(snapshot, member.folder);
      const older = /etcd had revision \d+ and has an older one now: .*restart all servers/;
      await assert.rejects(store.latestRevision(), { name: "StoreUnavailable", message: older });
      const started = storeOn(own, "/signet");
      await started.open();
      for (const key of ["/new", "/newer", "/newest"]) await put(started, key, "1");
      await assert.rejects(store.latestRevision(), older);
      await started.latestRevision();
    } finally {
      await own.stop();
    }
  });

  it("are refused beyond etcd's quota, and deletes are not", async () => {
    const own = await startEtcd({ flags: { "quota-backend-bytes": 2 ** 20 } });
    try {
      const store = storeOn(own, "/signet");
      await store.open();
      const refused = {
        name: "WriteOutcomeUnknown",
        message: /^etcd's space quota is used up: .*etcdctl alarm disarm$/,
      };
      // etcd measures its space ten times a second, so that a fast one takes more than its quota before.
      const fill = async (): Promise<void> => {
        for (let at = 0; at < 1_000; at++) await store.write(create(`/filler-${at}`, "x".repeat(100_000)));
      };
      await assert.rejects(fill(), refused);
      await assert.rejects(store.write(create("/a")), refused);
      await assert.rejects(Promise.all(["/b", "/c"].map((key) => store.write(create(key)))), refused);
      await assert.rejects(store.writeTogether([create("/d"), create("/e")]), refused);
      const { entries } = await store.range({ start: "/a", end: "/f", limit: 10 });
      assert.deepEqual(entries, []);
      const deleted = await store.write({ key: "/a", value: undefined, expectedRevision: 1 });
      assert.equal(deleted.isWritten, false);
    } finally {
      await own.stop();
    }
  });

  for (const [limits, flags] of [
    ["few operations", { "max-txn-ops": 2 }],
    ["short requests", { "max-request-bytes": 3_000 }],
  ] satisfies [string, EtcdOptions["flags"]][]) {
    it(`go one by one to an etcd that takes only ${limits} in a transaction`, async () => {
      const own = await startEtcd({ flags });
      try {
        const store = storeOn(own, "/signet");
        await store.open();
        const results = await Promise.all(
          ["/a", "/b", "/c", "/d"].map((key) => store.write(create(key, "x".repeat(1_000)))),
        );
        assert.equal(new Set(results.map(transactionOf)).size, 4);
      } finally {
        await own.stop();
      }
    });
  }

  it("end their values with a space in etcd, so that JSON stays JSON", async () => {
    const store = storeOn(etcd, "/read-raw");
    await store.open();
    await put(store, "/a", `{"a":1}`);
    const valueIn = async (given: EtcdStore): Promise<string> =>
      String((await given.range(everyKey)).entries[0]?.value);
    assert.equal(await valueIn(store), `{"a":1}`);
    assert.equal(await valueIn(storeOn(etcd, "/read-raw")), `{"a":1} `);
  });

  it("are read unchanged when another program has written them without that space", async () => {
    const store = storeOn(etcd, "/by-hand");
    await store.open();
    const byHand = storeOn(etcd, "/by-hand");
    const [, written] = [await put(store, "/a", "{}"), await put(byHand, "/b", `{"b":1}`)];
    const { entries } = await store.range(everyKey);
    assert.deepEqual(
      entries.map(({ value }) => String(value)),
      ["{}", `{"b":1}`],
    );
    assert.equal(entries[1]?.modRevision, written * step);
  });
});

describe("a prefix of etcd", { skip: skipsEtcd }, () => {
  const storeAt = etcdStores();

  it("groups writes for all replicas, even if several start with it at the same time", async () => {
    const replicas = Array.from({ length: 4 }, () => storeAt("/together"));
    await Promise.all(replicas.map((store) => store.open()));
    assert.deepEqual(
      replicas.map((store) => store.revisionsPerWrite),
      replicas.map(() => groupedRevisions.revisionsPerWrite),
    );
  });

  it("that has objects of an earlier version keeps etcd's revisions", async () => {
    const earlier = storeAt("/earlier");
    const revision = await put(earlier, "/a", "1");
    const store = storeAt("/earlier");
    assert.equal(await store.open(), 0);
    const next = await put(store, "/a", "2");
    assert.equal(next, revision + 1);
    assert.deepEqual(
      (await earlier.range(everyKey)).entries.map(({ value, modRevision }) => [String(value), modRevision]),
      [["2", next]],
    );
  });

  it("is not changed by readers", async () => {
    const store = storeAt("/looked-at");
    await store.open({ mayBegin: false });
    const other = storeAt("/looked-at");
    assert.equal(await other.startImport(1_000_000), 1_000_000 - (await other.latestRevision()));
  });

  it("that has imported objects groups writes, with revisions above those of the objects", async () => {
    const target = storeAt("/imported");
    const shift = await target.startImport(1_000_000);
    await Promise.all(["/a", "/b"].map((key) => target.write(create(key))));
    await assert.rejects(storeAt("/imported").open(), /or that broke off: wait for .*signet storage migrate/);
    await target.finishImport();
    const store = storeAt("/imported");
    assert.equal(await store.open(), shift);
    const { entries } = await store.range(everyKey);
    assert.deepEqual(
      entries.map(({ key, modRevision }) => [key, modRevision % step]),
      [
        ["/a", step - 1],
        ["/b", 0],
      ],
    );
    assert.ok(entries.every(({ modRevision }) => modRevision + shift > 1_000_000));
  });

  it("of a server that takes one key in a transaction keeps that server's revisions", async () => {
    const transactions: string[] = [];
    const prefix = new EtcdPrefix({
      keys: new KeySpace({ prefix: "/one-key", profile: "platform" }),
      call: async ({ path, decode }) => {
        if (!path.endsWith("Txn")) return decode(Buffer.alloc(0));
        transactions.push(path);
        throw new TransactionsUnsupported();
      },
    });
    assert.deepEqual(await prefix.open({ mayBegin: true }), {
      form: plainRevisions,
      shift: 0,
      guard: undefined,
      importedAt: 0,
    });
    assert.equal(transactions.length, 1);
  });
});
