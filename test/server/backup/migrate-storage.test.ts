import assert from "node:assert/strict";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { UsageError } from "../../../src/machinery/command-line/settings/flag.ts";
import { systemClock } from "../../../src/machinery/api/clock.ts";
import { backUp } from "../../../src/server/backup/back-up.ts";
import { restoreBackup } from "../../../src/server/backup/restore.ts";
import { migrateStorage } from "../../../src/server/backup/migrate-storage.ts";
import { LmdbStore } from "../../../src/machinery/storage/backends/lmdb.ts";
import { WriteOutcomeUnknown } from "../../../src/machinery/storage/store.ts";
import { openStore } from "../../../src/server/store/open-store.ts";
import { parseServerConfig } from "../../../src/server/settings/server-config.ts";
import { skipsEtcd, startEtcd } from "../../machinery/storage/etcd/etcd-process.ts";
import type { EtcdCluster } from "../../machinery/storage/etcd/etcd-process.ts";
import { put } from "../../machinery/storage/store-contract.ts";
import { startTestServer } from "../../test-server.ts";
import { InProcess } from "../in-process.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const controllersLease =
  "/apis/coordination.platform.io/v1/namespaces/platform-system/leases?watch=true&fieldSelector=metadata.name=signet-controllers";

const betweenStores =
  /a move of its objects between .+store and etcd broke off: give --etcd-servers; or, where etcd refuses that, remove .+store\.in-etcd/;

interface ForgetfulWay {
  readonly port: number;
  close(): void;
}

/** A way to a port of this machine that hands on a request with a text, and is cut in place of the answer, once `isDone` gives true. */
async function startForgetfulWay(
  port: number,
  { text, isDone }: { readonly text: string; readonly isDone: () => Promise<unknown> },
): Promise<ForgetfulWay> {
  const way = createServer((incoming) => {
    const outgoing = connect({ host: "127.0.0.1", port });
    for (const socket of [incoming, outgoing]) socket.on("error", () => {});
    outgoing.pipe(incoming);
    incoming.on("close", () => outgoing.destroy());
    incoming.on("data", (bytes: Buffer) => {
      outgoing.write(bytes);
      if (!bytes.includes(text)) return;
      outgoing.unpipe(incoming).resume();
      void (async () => {
        while ((await isDone()) !== true);
        incoming.resetAndDestroy();
      })();
    });
  });
  way.listen({ host: "127.0.0.1", port: 0 });
  await once(way, "listening");
  return { port: (way.address() as AddressInfo).port, close: () => void way.close() };
}

describe("moving a server's objects", { skip: skipsEtcd }, () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-migrate-"));
  const dataDirectory = join(folder, "data");
  let etcd: EtcdCluster;
  let settings: Record<string, string>;
  const migrate = (from: "lmdb" | "etcd", to: "lmdb" | "etcd", sleep = async (): Promise<void> => {}) =>
    migrateStorage(parseServerConfig({ commandLine: { "data-dir": dataDirectory, ...settings }, file: {} }), {
      from,
      to,
      sleep,
      onWait: () => {},
      signal: new AbortController().signal,
    });
  /** Runs a server on one of the stores, and returns what the test made of it. */
  async function onServer<T>(storage: Record<string, string>, use: (api: InProcess) => Promise<T>): Promise<T> {
    const server = await startTestServer({ storage: "lmdb", dataDirectory, settings: storage });
    const made = await use(new InProcess(server));
    await server.stop();
    return made;
  }
  const versionOf = async (api: InProcess): Promise<number> =>
    Number((await api.json(`${configMaps}/kept`)).metadata.resourceVersion);
  async function isGone(api: InProcess, version: number): Promise<boolean> {
    const watch = await api.watch(`${configMaps}?watch=true&resourceVersion=${version}`);
    const [first] = (await watch.until(1)).events;
    watch.stop();
    return first?.type === "ERROR" && first.object.code === 410;
  }

  before(async () => {
    etcd = await startEtcd();
    settings = { "etcd-servers": etcd.urls.join(",") };
  });
  after(async () => {
    await etcd.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("to etcd and back keeps all objects, and no revision that a client knows comes again", async () => {
    const first = await onServer({}, async (api) => {
      for (const name of ["kept", "deleted"]) {
        await api.json(configMaps, { method: "POST", body: { metadata: { name }, data: { colour: "green" } } });
      }
      await api.json(`${configMaps}/deleted`, { method: "DELETE" });
      // More writes than there are objects: etcd's own revisions would come out lower.
      for (let count = 0; count < 100; count += 1) {
        const body = { metadata: { name: "kept" }, data: { colour: `shade ${count}` } };
        await api.json(`${configMaps}/kept`, { method: "PUT", body });
      }
      return { version: await versionOf(api), object: await api.json(`${configMaps}/kept`) };
    });

    const { objects } = await migrate("lmdb", "etcd");
    assert.ok(objects > 30);
    await assert.rejects(startTestServer({ storage: "lmdb", dataDirectory }), /give --etcd-servers/);
    await assert.rejects(migrate("lmdb", "etcd"), UsageError);

    const second = await onServer(settings, async (api) => {
      const { metadata, data } = await api.json(`${configMaps}/kept`);
      assert.equal(metadata.uid, first.object.metadata.uid);
      assert.deepEqual(data, { colour: "shade 99" });
      assert.equal((await api.send(`${configMaps}/deleted`)).status, 404);
      assert.ok(Number(metadata.resourceVersion) > first.version);
      assert.ok(await isGone(api, first.version), "a watch from before begins again");
      const listed = (await api.json(configMaps)).metadata.resourceVersion;
      const watch = await api.watch(`${configMaps}?watch=true&resourceVersion=${listed}`);
      await api.json(configMaps, { method: "POST", body: { metadata: { name: "new" } } });
      const [event] = (await watch.until(1)).events;
      watch.stop();
      assert.equal(event?.type, "ADDED");
      assert.ok(Number(event?.object.metadata.resourceVersion) > Number(listed));
      return versionOf(api);
    });

    await migrate("etcd", "lmdb");
    await assert.rejects(startTestServer({ storage: "lmdb", dataDirectory, settings }), /were moved away/);
    await assert.rejects(migrate("etcd", "lmdb"), /were moved away: use the store that they are in now/);
    await onServer({}, async (api) => {
      assert.ok((await versionOf(api)) > second);
      assert.ok(await isGone(api, second), "a watch from before begins again");
      assert.equal((await api.send(`${configMaps}/new`)).status, 200);
    });
    assert.equal(existsSync(join(dataDirectory, "store.new")), false);
  });

  it("says why the old store cannot be put away, and lets servers use only etcd then, which has all objects", async () => {
    const directory = join(folder, "in-the-way");
    await (await startTestServer({ storage: "lmdb", dataDirectory: directory })).stop();
    const move = (prefix: string) =>
      migrateStorage(
        parseServerConfig({ commandLine: { "data-dir": directory, ...settings, "etcd-prefix": prefix }, file: {} }),
        { from: "lmdb", to: "etcd", sleep: async () => {}, onWait: () => {}, signal: new AbortController().signal },
      );
    await move("/put-away");
    const moved = readdirSync(directory).find((name) => name.startsWith("store.moved-")) ?? "";
    cpSync(join(directory, moved), join(directory, "store"), { recursive: true });
    rmSync(join(directory, "store.in-etcd"));
    await assert.rejects(move("/in-the-way"), { code: "ENOTEMPTY", dest: join(directory, moved) });
    await assert.rejects(startTestServer({ storage: "lmdb", dataDirectory: directory }), { message: betweenStores });
    const prefixed = { ...settings, "etcd-prefix": "/in-the-way" };
    await (await startTestServer({ storage: "lmdb", dataDirectory: directory, settings: prefixed })).stop();
  });

  it("lets no server use the old store while etcd has not said whether it has taken all objects", async (context) => {
    const directory = join(folder, "unsaid");
    await (await startTestServer({ storage: "lmdb", dataDirectory: directory })).stop();
    const [url = ""] = etcd.urls;
    const mark = join(directory, "store.in-etcd");
    const commandLine = { "data-dir": directory, "etcd-prefix": "/unsaid", ...settings };
    const direct = parseServerConfig({ commandLine, file: {} });
    let isMarkedBefore = false;
    const way = await startForgetfulWay(Number(new URL(url).port), {
      text: '"grouped"',
      isDone() {
        isMarkedBefore = existsSync(mark);
        return openStore(direct, { mayBegin: false }).then(
          (store) => store.close().then(() => true),
          () => false,
        );
      },
    });
    context.after(() => way.close());
    const through = { ...commandLine, "etcd-servers": `http://127.0.0.1:${way.port}` };
    const move = migrateStorage(parseServerConfig({ commandLine: through, file: {} }), {
      ...{ from: "lmdb", to: "etcd", sleep: async () => {}, onWait: () => {} },
      signal: new AbortController().signal,
    });
    await assert.rejects(move, WriteOutcomeUnknown);
    assert.ok(isMarkedBefore, "also a kill at this moment leaves one store that servers may use");
    const start = () => startTestServer({ storage: "lmdb", dataDirectory: directory });
    await assert.rejects(start(), { name: "UsageError", message: betweenStores });
    rmSync(mark);
    await (await start()).stop();
  });

  it("leaves all objects in the new store when etcd's last answer is lost", async (context) => {
    const prefix = "/forgetful";
    const directory = join(folder, "forgetful");
    const direct = { "etcd-servers": etcd.urls.join(","), "etcd-prefix": prefix };
    const server = await startTestServer({ storage: "lmdb", dataDirectory: directory, settings: direct });
    await new InProcess(server).json(configMaps, { method: "POST", body: { metadata: { name: "kept" } } });
    await server.stop();
    const mark = join(directory, "store.in-etcd");
    rmSync(mark); // as in a directory of an earlier version
    const configOf = (url: string) =>
      parseServerConfig({ commandLine: { ...direct, "data-dir": directory, "etcd-servers": url }, file: {} });
    const [url = ""] = etcd.urls;
    let isMarkedBefore = false;
    const way = await startForgetfulWay(Number(new URL(url).port), {
      text: '"moved"',
      isDone() {
        isMarkedBefore = existsSync(mark);
        return openStore(configOf(url), { mayBegin: false }).then(
          (store) => store.close(),
          () => true,
        );
      },
    });
    context.after(() => way.close());
    const options = {
      from: "etcd",
      to: "lmdb",
      sleep: async () => {},
      onWait: () => {},
      signal: new AbortController().signal,
    } as const;
    await assert.rejects(migrateStorage(configOf(`http://127.0.0.1:${way.port}`), options), {
      name: "CommandFailure",
      message: /all objects are in .+store now, .*: start signet serve without --etcd-servers, and no server with it/,
    });
    assert.ok(isMarkedBefore, "also a kill at this moment leaves one store that servers may use");
    const own = await startTestServer({ storage: "lmdb", dataDirectory: directory });
    assert.equal((await new InProcess(own).send(`${configMaps}/kept`)).status, 200);
    await own.stop();
  });

  it("is refused when a server that was not seen writes while the new store is completed", async (context) => {
    const directory = join(folder, "written-meanwhile");
    const commandLine = { "data-dir": directory, ...settings, "etcd-prefix": "/written-meanwhile" };
    const config = parseServerConfig({ commandLine, file: {} });
    await (await startTestServer({ storage: "lmdb", dataDirectory: directory, settings: commandLine })).stop();
    const compact = context.mock.method(LmdbStore.prototype, "compact", async () => {
      const store = await openStore(config, { mayBegin: false });
      await put(store, "/registry/configmaps/default/late", "{}");
      await store.close();
    });
    const options = { sleep: async () => {}, onWait: () => {}, signal: new AbortController().signal };
    await assert.rejects(migrateStorage(config, { from: "etcd", to: "lmdb", ...options }), /was written meanwhile/);
    assert.equal(compact.mock.callCount(), 1);
    assert.deepEqual(
      readdirSync(directory).filter((name) => name.startsWith("store")),
      ["store.in-etcd"],
    );
  });

  it("is refused into the data directory of no server on this etcd, whose CAs would be others, and makes nothing there", async () => {
    const prefixed = { ...settings, "etcd-prefix": "/of-another" };
    const ofServer = join(folder, "of-server");
    await (await startTestServer({ storage: "lmdb", dataDirectory: ofServer, settings: prefixed })).stop();
    const moveTo = (directory: string) =>
      migrateStorage(parseServerConfig({ commandLine: { ...prefixed, "data-dir": directory }, file: {} }), {
        ...{ from: "etcd", to: "lmdb", sleep: async () => {}, onWait: () => {} },
        signal: new AbortController().signal,
      });
    const missing = join(folder, "missing");
    await assert.rejects(moveTo(missing), /missing does not exist; name the data directory of a server/);
    assert.equal(existsSync(missing), false);
    const empty = join(folder, "empty");
    mkdirSync(empty, { mode: 0o700 });
    await assert.rejects(moveTo(empty), /ca\.crt is not the CA that its servers have/);
    writeFileSync(join(empty, "ca.crt"), "-----BEGIN CERTIFICATE-----\nMAAw\n-----END CERTIFICATE-----\n");
    await assert.rejects(moveTo(empty), { name: "UsageError", message: /--data-dir: .+ca\.crt: x509: malformed/ });
    assert.equal(existsSync(join(ofServer, "store.in-etcd")), true);
    await moveTo(ofServer);
    assert.equal(existsSync(join(ofServer, "store.in-etcd")), false);
  });

  it("is needed by a server that is started without the etcd that it had: it does not begin anew before its mark is removed", async () => {
    const directory = join(folder, "without-etcd");
    const prefixed = { ...settings, "etcd-prefix": "/without-etcd" };
    await (await startTestServer({ storage: "lmdb", dataDirectory: directory, settings: prefixed })).stop();
    const start = () => startTestServer({ storage: "lmdb", dataDirectory: directory });
    await assert.rejects(start(), {
      name: "UsageError",
      message: /its objects are in etcd: give --etcd-servers; or, to begin with nothing, remove .+store\.in-etcd/,
    });
    rmSync(join(directory, "store.in-etcd"));
    await (await start()).stop();
  });

  it("is needed by a server that is given an empty etcd after it has served: it does not begin anew there", async () => {
    const directory = join(folder, "empty-etcd");
    await (await startTestServer({ storage: "lmdb", dataDirectory: directory })).stop();
    const start = (prefix: string) =>
      startTestServer({ storage: "lmdb", dataDirectory: directory, settings: { ...settings, "etcd-prefix": prefix } });
    await assert.rejects(start("/empty"), {
      name: "UsageError",
      message:
        /etcd holds nothing below \/empty, .+: move its objects there .+; or, to begin with nothing, remove .+admin\.pem/,
    });
    const commandLine = { "data-dir": directory, ...settings, "etcd-prefix": "/empty" };
    await migrateStorage(parseServerConfig({ commandLine, file: {} }), {
      ...{ from: "lmdb", to: "etcd", sleep: async () => {}, onWait: () => {} },
      signal: new AbortController().signal,
    });
    await (await start("/empty")).stop();
    await assert.rejects(start("/mistaken"), /etcd holds nothing below \/mistaken, .+: correct .+--etcd-prefix/);
    await (await start("/empty")).stop();
  });

  it("is not needed by a server with a store of its own that another server's etcd has refused", async () => {
    const prefixed = { ...settings, "etcd-prefix": "/of-others" };
    const others = join(folder, "others");
    await (await startTestServer({ storage: "lmdb", dataDirectory: others, settings: prefixed })).stop();
    const dataDirectory = join(folder, "refused");
    const start = (more = {}) => startTestServer({ storage: "lmdb", dataDirectory, settings: more });
    await (await start()).stop();
    await assert.rejects(start(prefixed), /this replica's CA differs from that of the other replicas/);
    await (await start()).stop();
  });

  it("is needed by a server that is started without the etcd of its restore: it does not begin anew", async () => {
    const file = join(folder, "backup.gz");
    const signal = new AbortController().signal;
    const source = join(folder, "backed-up");
    await (await startTestServer({ storage: "lmdb", dataDirectory: source })).stop();
    const configOf = (commandLine: Record<string, string>) => parseServerConfig({ commandLine, file: {} });
    await backUp(configOf({ "data-dir": source }), { file, withKeys: true, clock: systemClock, signal });
    const directory = join(folder, "restored");
    const target = configOf({ "data-dir": directory, ...settings, "etcd-prefix": "/restored" });
    await restoreBackup(target, { file, clock: systemClock, signal });
    await assert.rejects(startTestServer({ storage: "lmdb", dataDirectory: directory }), /its objects are in etcd/);
  });

  it("that broke off on the way from etcd keeps servers without etcd from beginning anew", async () => {
    const directory = join(folder, "broken-off");
    mkdirSync(join(directory, "store.new"), { recursive: true, mode: 0o700 });
    await assert.rejects(startTestServer({ storage: "lmdb", dataDirectory: directory }), {
      name: "UsageError",
      message:
        /a move of its objects from etcd broke off: give --etcd-servers, or remove .+store\.new and move them again/,
    });
  });

  it("is refused while a server uses the source, and over a target that is not empty", async () => {
    await onServer({}, async () => {
      await assert.rejects(migrate("lmdb", "etcd"), UsageError);
    });
    await assert.rejects(migrate("lmdb", "etcd"), /is not empty/);
    const prefixed = { ...settings, "etcd-prefix": "/second" };
    const other = join(folder, "other");
    cpSync(dataDirectory, other, { recursive: true });
    rmSync(join(other, "admin.pem"));
    const server = await startTestServer({ storage: "lmdb", dataDirectory: other, settings: prefixed });
    const api = new InProcess(server);
    const lease = await api.watch(controllersLease);
    await lease.until(1);
    lease.stop();
    settings = prefixed;
    rmSync(join(dataDirectory, "store"), { recursive: true });
    const renew = async (): Promise<void> => {
      const spec = { renewTime: "2001-01-01T00:00:00.000000Z" }; // its clock is decades behind
      const path = "/apis/coordination.platform.io/v1/namespaces/platform-system/leases/signet-controllers";
      await api.json(path, {
        method: "PATCH",
        headers: { "content-type": "application/merge-patch+json" },
        body: { spec },
      });
    };
    await assert.rejects(migrate("etcd", "lmdb", renew), /it writes the lease of its loops/);
    assert.equal(existsSync(join(dataDirectory, "store.new")), false);
  });
});
