import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { systemClock } from "../../src/machinery/api/clock.ts";
import { UsageError } from "../../src/machinery/command-line/flag.ts";
import { UnusableFile } from "../../src/machinery/files/unusable-file.ts";
import { migrateStorage } from "../../src/server/backup/migrate-storage.ts";
import { parseServerConfig } from "../../src/server/server-config.ts";
import { skipsEtcd, startEtcd } from "../machinery/storage/etcd-process.ts";
import type { EtcdCluster } from "../machinery/storage/etcd-process.ts";
import { startTestServer } from "../test-server.ts";
import { InProcess } from "./in-process.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const controllersLease =
  "/apis/coordination.platform.io/v1/namespaces/platform-system/leases?watch=true&fieldSelector=metadata.name=signet-controllers";

describe("moving a server's objects", { skip: skipsEtcd }, () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-migrate-"));
  const dataDirectory = join(folder, "data");
  let etcd: EtcdCluster;
  let settings: Record<string, string>;
  const migrate = (from: "lmdb" | "etcd", to: "lmdb" | "etcd") =>
    migrateStorage(parseServerConfig({ commandLine: { "data-dir": dataDirectory, ...settings }, file: {} }), {
      from,
      to,
      clock: systemClock,
      signal: new AbortController().signal,
    });
  /** Runs a server on one of the stores, and returns what the test made of it. */
  async function onServer<T>(storage: Record<string, string>, use: (api: InProcess) => Promise<T>): Promise<T> {
    const server = await startTestServer({ storage: "lmdb", dataDirectory, settings: storage });
    try {
      return await use(new InProcess(server));
    } finally {
      await server.stop();
    }
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
    await onServer({}, async (api) => {
      assert.ok((await versionOf(api)) > second);
      assert.ok(await isGone(api, second), "a watch from before begins again");
      assert.equal((await api.send(`${configMaps}/new`)).status, 200);
    });
    assert.equal(existsSync(join(dataDirectory, "store.new")), false);
  });

  it("is refused while a server uses the source, and over a target that is not empty", async () => {
    await onServer({}, async () => {
      await assert.rejects(migrate("lmdb", "etcd"), UnusableFile);
    });
    await assert.rejects(migrate("lmdb", "etcd"), /is not empty/);
    const prefixed = { ...settings, "etcd-prefix": "/second" };
    const other = join(folder, "other");
    const server = await startTestServer({ storage: "lmdb", dataDirectory: other, settings: prefixed });
    try {
      const lease = await new InProcess(server).watch(controllersLease);
      await lease.until(1);
      lease.stop();
      settings = prefixed;
      rmSync(join(dataDirectory, "store"), { recursive: true });
      await assert.rejects(migrate("etcd", "lmdb"), /holds its lease/);
      assert.equal(existsSync(join(dataDirectory, "store.new")), false);
    } finally {
      await server.stop();
    }
  });
});
