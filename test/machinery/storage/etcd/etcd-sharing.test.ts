import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { EtcdStore } from "../../../../src/machinery/storage/backends/etcd.ts";
import { SharedRead } from "../../../../src/machinery/storage/etcd/shared-read.ts";
import {
  RevisionCompacted,
  StoreUnavailable,
  ValueTooLarge,
  WriteOutcomeUnknown,
} from "../../../../src/machinery/storage/store.ts";
import { skipsEtcd, startEtcd } from "./etcd-process.ts";
import { etcdStores } from "./etcd-stores.ts";
import { eventually } from "../../../end-to-end/eventually.ts";
import { put, takeChanges } from "../store-contract.ts";
import { UnusablePrefix } from "../../../../src/machinery/storage/etcd/key-space.ts";
import { hasOrderedProgress } from "../../../../src/machinery/storage/etcd/etcd-errors.ts";
import { everyKey } from "../../../../src/machinery/storage/key-range.ts";

describe("an etcd that is shared with others", { skip: skipsEtcd }, () => {
  const storeAt = etcdStores();

  it("shows a store only the keys below its prefix", async () => {
    const [one, other] = [storeAt("/one"), storeAt("/one-more")];
    await put(one, "/a", "1");
    await put(other, "/b", "2");
    assert.deepEqual(
      (await one.range(everyKey)).entries.map(({ key }) => key),
      ["/a"],
    );
  });

  it("notifies watches of progress when only other prefixes change", async () => {
    const [store, others] = [storeAt("/progress"), storeAt("/elsewhere")];
    const revision = await put(store, "/a", "1");
    const reached = new Promise<number>((resolve) => {
      store.watch({
        afterRevision: revision,
        onChanges: () => assert.fail("nothing of the store's own has changed"),
        onProgress: resolve,
        onEnd: () => {},
      });
    });
    const foreign = await put(others, "/a", "1");
    assert.ok((await store.latestRevision()) >= foreign);
    store.catchUp();
    assert.ok((await reached) >= foreign);
  });

  it("ties the prefix of a store to one naming profile", async () => {
    const first = storeAt("/profiles");
    await first.open();
    await put(first, "/a", "1");
    await storeAt("/profiles").open();
    await assert.rejects(
      storeAt("/profiles", "kubernetes").open(),
      /has the names of the profile platform, not kubernetes: start with --profile platform, or with another --/,
    );
  });

  it("may have the prefix of another store below its own", async () => {
    const [outer, inner] = [storeAt("/outer"), storeAt("/outer/inner")];
    await outer.open();
    await put(outer, "/a", "outer");
    await inner.open();
    await put(inner, "/a", "inner");
    const again = storeAt("/outer");
    await again.open();
    const { entries } = await again.range(everyKey);
    assert.deepEqual(
      entries.map(({ key, value }) => [key, String(value)]),
      [["/a", "outer"]],
    );
  });

  it("lets no store have keys of other programs below its prefix", async () => {
    const cluster = storeAt("/cluster", "registry");
    await cluster.open();
    await put(cluster, "/pods/a", "1");
    await assert.rejects(storeAt("/cluster").open(), (error) => {
      assert.ok(error instanceof UnusablePrefix);
      assert.match(
        error.message,
        /^etcd's prefix \/cluster has keys of another program, such as "\/cluster\/registry[./].+": start with another --etcd-prefix$/,
      );
      return true;
    });
  });

  it("lets no store have its prefix among the keys of another", async () => {
    const outer = storeAt("/around");
    await outer.open();
    await put(outer, "/a", "1");
    for (const prefix of ["/around/platform", "/around/platform/below", "/around/kubernetes"]) {
      await assert.rejects(storeAt(prefix).open(), (error) => {
        assert.ok(error instanceof UnusablePrefix);
        assert.equal(
          error.message,
          `etcd's prefix ${prefix} is among the keys of another server, which has /around/platform: start with another --etcd-prefix`,
        );
        return true;
      });
    }
    await storeAt("/around/plat").open();
  });

  for (const prefix of ["/enclosed/platform", "/encloses/platform/below"]) {
    it(`lets no store have ${prefix} of another among its keys`, async () => {
      const inner = storeAt(prefix);
      await inner.open();
      await put(inner, "/a", "1");
      const outer = storeAt(prefix.slice(0, prefix.indexOf("/platform")));
      await assert.rejects(outer.open(), (error) => {
        assert.ok(error instanceof UnusablePrefix);
        assert.match(
          error.message,
          new RegExp(`^another server has etcd's prefix ${prefix}, .+: start with another --etcd-prefix$`),
        );
        return true;
      });
      await assert.rejects(outer.startImport(1), UnusablePrefix);
      await storeAt(prefix).open();
    });
  }

  it("may be compacted by anyone", async () => {
    const [store, others] = [storeAt("/compacted"), storeAt("/compacting")];
    const first = await put(store, "/a", "1");
    await put(store, "/a", "2");
    const compacted = await put(others, "/x", "1");
    await others.compact(compacted);
    await assert.rejects(store.range({ ...everyKey, revision: first }), { compactedRevision: compacted });
    await assert.rejects(takeChanges(store, { afterRevision: first, count: 1 }), RevisionCompacted);
    assert.equal(await store.compactedRevision(), compacted);
    await store.compact(compacted - 1);
    assert.equal(await storeAt("/compacted").compactedRevision(), compacted);
  });

  it("reads ranges of any length at one revision", async () => {
    const store = storeAt("/long");
    const keys = Array.from({ length: 2_345 }, (_, index) => `/k${String(index).padStart(5, "0")}`);
    const writes = keys.map((key) => ({ key, value: Buffer.from(key), expectedRevision: 0 }));
    // A hundred in a transaction: of thousands at once, etcd lets some time out where the disk is slow.
    for (let from = 0; from < writes.length; from += 100) await store.writeTogether(writes.slice(from, from + 100));
    const { entries, revision, hasMore } = await store.range(everyKey);
    assert.deepEqual(
      entries.map(({ key }) => key),
      keys,
    );
    assert.equal(hasMore, false);
    assert.equal(revision, await store.latestRevision());
    const part = await store.range({ ...everyKey, limit: 1_500 });
    assert.deepEqual([part.entries.length, part.hasMore], [1_500, true]);
  });

  it("refuses only values that etcd refuses", async () => {
    const store = storeAt("/large");
    const value = Buffer.alloc(9 * 2 ** 20);
    await assert.rejects(store.write({ key: "/a", value, expectedRevision: 0 }), ValueTooLarge);
    assert.deepEqual((await store.range(everyKey)).entries, []);
  });
});

describe("an etcd of another cluster", { skip: skipsEtcd }, () => {
  it("is never used in place of the first one: it has other objects, and other revisions", async () => {
    const clusters = [await startEtcd(), await startEtcd()];
    const servers = clusters.flatMap(({ urls }) => urls);
    const store = new EtcdStore({ servers, prefix: "/signet", profile: "platform", callMilliseconds: 1_500 });
    try {
      await eventually("a write to one of them", () => put(store, "/a", "1"));
      // The store does not tell which one it has taken.
      const copies = clusters.map(
        ({ urls }) =>
          new EtcdStore({ servers: urls, prefix: "/signet", profile: "platform", callMilliseconds: 60_000 }),
      );
      const found = await Promise.all(copies.map(async (copy) => (await copy.range(everyKey)).entries.length));
      await Promise.all(copies.map((copy) => copy.close()));
      const [taken, other] = found[0] === 1 ? clusters : clusters.toReversed();
      assert.equal((found[0] ?? 0) + (found[1] ?? 0), 1);
      await taken?.members[0]?.kill();
      const isRefused = ({ name, message }: Error): boolean =>
        name === "StoreUnavailable" &&
        message.includes(
          `${other?.urls[0]} is of another cluster than the one that this process has used: if etcd was`,
        );
      for (const call of [
        () => store.write({ key: "/b", value: Buffer.from("1"), expectedRevision: 0 }),
        () => store.latestRevision(),
      ]) {
        // Until the other one answers in time, none can be reached.
        await eventually("the other one is refused", () => call().then(() => assert.fail("it is used"), isRefused));
      }
    } finally {
      await store.close();
      await Promise.all(clusters.map((cluster) => cluster.stop()));
    }
  });
});

describe("an etcd that does not answer", { skip: skipsEtcd }, () => {
  it("leaves the outcome of a write unknown, and serves again when etcd answers again", async () => {
    const etcd = await startEtcd();
    const store = new EtcdStore({
      servers: etcd.urls,
      prefix: "/signet",
      profile: "platform",
      callMilliseconds: 1_500,
    });
    try {
      const patient = new EtcdStore({
        servers: etcd.urls,
        prefix: "/signet",
        profile: "platform",
        callMilliseconds: 60_000,
      });
      const revision = await put(patient, "/a", "1");
      await patient.close();
      await eventually("a read", () => store.latestRevision());
      await Promise.all(etcd.members.map((member) => member.pause()));
      const write = { key: "/a", value: Buffer.from("2"), expectedRevision: revision };
      await assert.rejects(store.write(write), WriteOutcomeUnknown);
      await assert.rejects(store.latestRevision(), StoreUnavailable);
      await assert.rejects(
        store.write(write),
        (error) => error instanceof StoreUnavailable && !(error instanceof WriteOutcomeUnknown),
      );
      for (const member of etcd.members) member.resume();
      const changes = await eventually("a watch", () => takeChanges(store, { afterRevision: 1, count: 1 }));
      assert.equal(changes[0]?.revision, revision);
      assert.ok((await eventually("a write", () => put(store, "/b", "1"))) > revision);
    } finally {
      await store.close();
      await etcd.stop();
    }
  });
});

describe("a shared read", () => {
  it("starts after its callers have asked, and is shared by all who ask before it starts", async () => {
    const performed: ((value: number) => void)[] = [];
    const reading = new SharedRead(() => new Promise<number>((resolve) => performed.push(resolve)));
    const untilBegun = async (count: number): Promise<void> => {
      while (performed.length < count) await new Promise(setImmediate);
    };
    const first = [reading.read(), reading.read()];
    assert.equal(performed.length, 0);
    await untilBegun(1);
    const others = [reading.read(), reading.read(), reading.read()];
    await new Promise(setImmediate);
    assert.equal(performed.length, 1);
    performed[0]?.(1);
    assert.deepEqual(await Promise.all(first), [1, 1]);
    await untilBegun(2);
    const late = reading.read();
    performed[1]?.(2);
    assert.deepEqual(await Promise.all(others), [2, 2, 2]);
    await untilBegun(3);
    performed[2]?.(3);
    assert.equal(await late, 3);
    assert.equal(performed.length, 3);
  });

  it("fails for the callers that wait for it, not for later ones", async () => {
    let isFailing = true;
    const reading = new SharedRead(async () => {
      if (isFailing) throw new Error("not reachable");
      return 1;
    });
    await assert.rejects(Promise.all([reading.read(), reading.read()]), /not reachable/);
    isFailing = false;
    assert.equal(await reading.read(), 1);
  });
});

describe("etcd's progress answers", () => {
  it("are trusted only where they cannot overtake events", () => {
    const trusted = ["3.4.25", "3.5.8", "3.5.16", "3.6.0", "4.0.0"];
    const others = ["3.4.23", "3.5.7", "3.3.27", ""];
    assert.deepEqual([...others, ...trusted].filter(hasOrderedProgress), trusted);
  });
});
