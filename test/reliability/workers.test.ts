import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { adminToken } from "../../bench/processes/server-process.ts";
import { startTestServerProcess } from "../test-server-process.ts";
import type { ServerProcess } from "../../bench/processes/server-process.ts";
import { namesFor } from "../../src/machinery/api/names.ts";
import type { ApiObject } from "../../src/machinery/api/object-meta.ts";
import { ApiClient } from "../../src/machinery/client/api-client.ts";
import { resourceReferences } from "../resource-references.ts";
import { parseServerConfig } from "../../src/server/settings/server-config.ts";
import { loadThroughStop } from "../server/replicas/load-through-stop.ts";
import { clientOf } from "./client-of.ts";
import { LedgerWriter } from "./ledger-writer.ts";
import { SeededRandom } from "./seeded-random.ts";
import { WatchFollower } from "./watch-follower.ts";

const { configMaps, serviceAccounts, namespaces } = resourceReferences(namesFor("platform"));
const namespace = "default";
const configMap = (name: string): ApiObject => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });

/** Begins a create, whose body does not come before `finish`. Resolves when a worker waits for the body. */
async function beginCreate(
  { url, caCertificates }: ServerProcess,
  name: string,
): Promise<{ finish(): Promise<number | string | undefined> }> {
  const body = JSON.stringify(configMap(name));
  const sent = request(`${url}/api/v1/namespaces/${namespace}/configmaps`, {
    method: "POST",
    ca: caCertificates,
    agent: false,
    headers: {
      authorization: `Bearer ${adminToken}`,
      "content-type": "application/json",
      "content-length": body.length,
      expect: "100-continue",
    },
  });
  const answered = once(sent, "response").then(([answer]) => (answer as IncomingMessage).statusCode, String);
  await once(sent, "continue");
  return {
    finish() {
      sent.end(body);
      return answered;
    },
  };
}

describe("a server of two worker processes", () => {
  const scratch = mkdtempSync(join(tmpdir(), "signet-workers-"));
  let server: ServerProcess;
  /** The kernel distributes their connections over the workers. */
  let clients: readonly [ApiClient, ApiClient, ApiClient, ApiClient];

  before(async () => {
    server = await startTestServerProcess(join(scratch, "data"), { flags: ["--workers=2", "--log-level=error"] });
    clients = [clientOf(server), clientOf(server), clientOf(server), clientOf(server)];
    for (const client of clients) assert.equal(await client.text("/readyz"), "ok");
  });

  after(async () => {
    for (const client of clients) client.close();
    await server.kill();
    rmSync(scratch, { recursive: true, force: true });
  });

  it("is one primary process with two that serve", () => {
    assert.equal(server.workerIds().length, 2);
  });

  it("shows writes that any worker has acknowledged through every worker", async () => {
    for (let index = 0; index < 40; index++) {
      const writer = clients[index % clients.length] ?? clients[0];
      const name = `mine-${index}`;
      const { metadata } = await writer.resource<ApiObject>(configMaps, namespace).create(configMap(name));
      await Promise.all(
        clients.map(async (client) => {
          const resource = client.resource<ApiObject>(configMaps, namespace);
          assert.equal((await resource.get(name)).metadata.uid, metadata.uid);
          const list = await resource.list();
          assert.ok(list.items.some((object) => object.metadata.name === name));
          assert.ok(Number(list.metadata.resourceVersion) >= Number(metadata.resourceVersion));
        }),
      );
    }
  });

  it("serves the metrics of all workers together through every worker", async () => {
    const created = async (client: ApiClient): Promise<number> => {
      const text = await client.text("/metrics");
      const series = /^apiserver_request_total\{verb="POST",.*resource="configmaps",.*code="201"\} (\d+)$/m;
      return Number(series.exec(text)?.[1]);
    };
    const counts = await Promise.all(clients.map((client) => created(client)));
    assert.ok((counts[0] ?? 0) >= 40, String(counts));
    assert.equal(new Set(counts).size, 1, String(counts));
  });

  it("removes a permission in every worker at once", async () => {
    const group = "rbac.authorization.platform.io";
    const bindings = `/apis/${group}/v1/clusterrolebindings`;
    const review = {
      apiVersion: "authorization.platform.io/v1",
      kind: "SubjectAccessReview",
      spec: { user: "alice", resourceAttributes: { verb: "list", resource: "secrets" } },
    };
    const isAllowed = async (client: ApiClient): Promise<boolean> => {
      const answer = await client.request<{ status: { allowed: boolean } }>(
        "/apis/authorization.platform.io/v1/subjectaccessreviews",
        { method: "POST", body: review },
      );
      return answer.status.allowed;
    };
    const [first, ...others] = clients;
    for (let round = 0; round < 5; round++) {
      await first.request(bindings, {
        method: "POST",
        body: {
          apiVersion: `${group}/v1`,
          kind: "ClusterRoleBinding",
          metadata: { name: "alice" },
          roleRef: { apiGroup: group, kind: "ClusterRole", name: "cluster-admin" },
          subjects: [{ apiGroup: group, kind: "User", name: "alice" }],
        },
      });
      assert.deepEqual(await Promise.all(others.map(isAllowed)), [true, true, true]);
      await first.request(`${bindings}/alice`, { method: "DELETE" });
      assert.deepEqual(await Promise.all(others.map(isAllowed)), [false, false, false]);
    }
  });

  it("delivers the writes of one worker to idle watches of another", async () => {
    const following = new AbortController();
    const followers = clients.map((client) => {
      const follower = new WatchFollower(configMaps, namespace);
      return { follower, done: follower.follow(client, following.signal) };
    });
    for (const { follower } of followers) assert.ok(await follower.reached(1, { withinMilliseconds: 100_000 }));
    const { metadata } = await clients[0].resource<ApiObject>(configMaps, namespace).create(configMap("news"));
    for (const { follower } of followers) {
      assert.ok(await follower.reached(Number(metadata.resourceVersion), { withinMilliseconds: 100_000 }));
    }
    following.abort();
    await Promise.all(followers.map(({ done }) => done));
  });

  it("loses nothing when workers are killed under load, replaces them, and keeps controllers running", async () => {
    const random = new SeededRandom(11);
    const stopping = new AbortController();
    const follower = new WatchFollower(serviceAccounts, namespace);
    const followed = follower.follow(clients[0], stopping.signal);
    const writers = Array.from(
      { length: 8 },
      (_, index) =>
        new LedgerWriter({ name: `kill-${index}`, namespace, references: [serviceAccounts], random: random.fork() }),
    );
    const own = writers.map(() => clientOf(server));
    const writing = writers.map((writer, index) => writer.runThroughFaults(own[index] ?? clients[0], stopping.signal));
    for (let kills = 0; kills < 2; kills++) {
      await delay(random.integer(100, 300));
      const [oldest = 0] = server.workerIds();
      process.kill(oldest, "SIGKILL");
      while (server.workerIds().includes(oldest) || server.workerIds().length < 2) await delay(10);
    }
    await delay(200);
    stopping.abort();
    const losses = (await Promise.all(writing)).flat();
    await followed;
    for (const client of own) client.close();
    assert.deepEqual(losses, []);
    assert.deepEqual(
      writers.flatMap(({ violations }) => violations),
      [],
    );
    assert.deepEqual([follower.violations, follower.relists], [[], 0]);

    const made: ApiObject = { apiVersion: "v1", kind: "Namespace", metadata: { name: "after-kills" } };
    const client = clientOf(server);
    await client.resource<ApiObject>(namespaces).create(made);
    const accounts = client.resource(serviceAccounts, "after-kills");
    while ((await accounts.find("default")) === undefined) await delay(20);
    client.close();
  });

  it("fails no request when a worker is told to stop under load, and has another one take its place", async () => {
    const [oldest = 0] = server.workerIds();
    await loadThroughStop({
      addressOf: () => server,
      token: adminToken,
      async stop() {
        process.kill(oldest, "SIGTERM");
        while (server.workerIds().includes(oldest) || server.workerIds().length < 2) await delay(10);
      },
    });
  });

  it("stops in an orderly way, and answers what still runs in workers that were told to stop before", async () => {
    const old = server.workerIds();
    const others = (): number[] => server.workerIds().filter((id) => !old.includes(id));
    const create = await beginCreate(server, "slow");
    for (const id of old) process.kill(id, "SIGTERM");
    while (others().length < old.length) await delay(10);
    const stopped = server.stop();
    while (others().length > 0) await delay(10);
    assert.equal(await create.finish(), 201);
    assert.equal(await stopped, 0);
    assert.deepEqual(server.workerIds(), []);
  });
});

describe("--workers", () => {
  it("accepts a number, or auto for one worker for each core", () => {
    const workerCount = (workers: string): number => parseServerConfig({ commandLine: { workers }, file: {} }).workers;
    assert.equal(workerCount("3"), 3);
    assert.ok(workerCount("auto") >= 1);
    for (const wrong of ["0", "-1", "many", "1.5", "257", ""]) assert.throws(() => workerCount(wrong), /--workers/);
  });
});
