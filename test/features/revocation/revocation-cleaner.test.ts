import assert from "node:assert/strict";
import { test } from "node:test";
import { serviceAccountResource } from "../../../src/features/accounts/resources.ts";
import { revocationResource } from "../../../src/features/revocation/index.ts";
import { revocationCleaner } from "../../../src/features/revocation/revocation-cleaner.ts";
import { timestamp } from "../../../src/machinery/api/clock.ts";
import type { Schedule } from "../../../src/machinery/api/clock.ts";
import { platformNames as names } from "../../../src/machinery/api/names.ts";
import { ApiClient } from "../../../src/machinery/client/api-client.ts";
import type { Transport } from "../../../src/machinery/client/transport.ts";
import { inProcessTransport } from "../../../src/machinery/client/in-process-transport.ts";
import { runControllers } from "../../../src/machinery/loops/elected-controllers.ts";
import { atOnce, loopContext } from "../../run-loop.ts";
import { startTestServer } from "../../test-server.ts";
import { waitForObject } from "../../wait-for-object.ts";
import { PolicyScene, matching } from "../admission/policy-scene.ts";

const day = 24 * 3_600_000;

test("revocations of credentials that no longer exist are deleted, and no others", async () => {
  const server = await startTestServer({ settings: { controllers: "false" } });
  const { client } = server;
  const resource = client.resource(revocationResource(names));
  const now = Date.now();
  const create = (name: string, spec: object) =>
    resource.create({ apiVersion: "", kind: "", metadata: { name }, spec });
  const ofAccount = (name: string) => ({ serviceAccount: { namespace: "default", name } });
  await client.request("/api/v1/namespaces/default/serviceaccounts", {
    method: "POST",
    body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "here" } },
  });
  const issuedBefore = timestamp(now);
  await create("kept-later", { token: { id: "a" }, expirationTimestamp: timestamp(now + 3 * day) });
  await create("kept-unknown", { token: { id: "b" } });
  await create("kept-account", { token: { ...ofAccount("here"), issuedBefore } });
  await create("kept-coming", { token: ofAccount("gone") });
  await create("kept-all", { token: { issuedBefore } });
  // The cleaner goes by name, so when these are gone, it has passed all of the others.
  await create("last-ended", { token: { id: "c" }, expirationTimestamp: timestamp(now + day) });
  await create("last-of-gone-account", { token: { ...ofAccount("gone"), issuedBefore } });

  const cleaner = revocationCleaner(serviceAccountResource);
  const later = { now: () => now + 2 * day };
  const running = runControllers([cleaner], loopContext({ client, clock: later, schedule: atOnce }));
  for (const name of ["last-ended", "last-of-gone-account"]) {
    await waitForObject(client, revocationResource(names), { name }, (found) => found === undefined);
  }
  const left = (await resource.list()).items.map(({ metadata }) => metadata.name);
  assert.deepEqual(left, ["kept-account", "kept-all", "kept-coming", "kept-later", "kept-unknown"]);
  await running.stop();
  await server.stop();
});

test("a revocation stays when the clock was ahead of its end for less than an hour, or it is younger than that", async (context) => {
  const server = await startTestServer({ settings: { controllers: "false" } });
  const { client } = server;
  const resource = client.resource(revocationResource(names));
  const now = Date.now();
  const spec = { token: { id: "a" }, expirationTimestamp: timestamp(now + day) };
  await resource.create({ apiVersion: "", kind: "", metadata: { name: "kept" }, spec });
  const ofGoneAccount = { serviceAccount: { namespace: "default", name: "gone" }, issuedBefore: timestamp(now) };
  await resource.create({ apiVersion: "", kind: "", metadata: { name: "young" }, spec: { token: ofGoneAccount } });
  const waits: number[] = [];
  await new Promise<void>((resolve) => {
    const clock = { now: () => now + (waits.length === 1 ? 2 * day : 0) };
    const schedule: Schedule = (look, milliseconds) => {
      waits.push(milliseconds);
      if (waits.length < 4) return atOnce(look, milliseconds);
      resolve();
      return () => undefined;
    };
    const cleaner = revocationCleaner(serviceAccountResource);
    const running = runControllers([cleaner], loopContext({ client, clock, schedule }));
    context.after(() => running.stop());
  });
  assert.deepEqual(waits, [3_600_000, 3_600_000, 3_600_000, 3_600_000]);
  assert.equal((await resource.list()).items.length, 2);
});

test("a revocation that may not be deleted does not hold up the others, is told in one line, and is tried again an hour later", async (context) => {
  const scene = await PolicyScene.start();
  context.after(() => scene.stop());
  // Policies apply to the users of loops, unlike to the server itself.
  const client = new ApiClient(inProcessTransport(scene.server.handler, { bearerToken: "root" }));
  await scene.policy("keep", {
    matchConstraints: matching(["revocations"], { apiGroups: ["*"], operations: ["DELETE"] }),
    validations: [{ expression: "oldObject.metadata.name != 'a-kept'" }],
  });
  const now = Date.now();
  for (const name of ["a-kept", "b-ended"]) {
    const spec = { token: { id: name }, expirationTimestamp: timestamp(now + day) };
    const metadata = { name };
    await client.resource(revocationResource(names)).create({ apiVersion: "", kind: "", metadata, spec });
  }
  const waits: number[] = [];
  const lines: object[] = [];
  await new Promise<void>((resolve) => {
    const schedule: Schedule = (look, milliseconds) => {
      waits.push(milliseconds);
      if (waits.length < 3) return atOnce(look, milliseconds);
      resolve();
      return () => undefined;
    };
    const log = { info() {}, error: (fields: object) => void lines.push(fields) };
    const clock = { now: () => now + 2 * day };
    const running = runControllers(
      [revocationCleaner(serviceAccountResource)],
      loopContext({ client, clock, schedule, log }),
    );
    context.after(() => running.stop());
  });
  await waitForObject(client, revocationResource(names), { name: "b-ended" }, (found) => found === undefined);
  assert.deepEqual(waits, [3_600_000, 3_600_000, 3_600_000]);
  const [{ error, ...line } = { error: "" }] = lines as { error: string }[];
  assert.deepEqual(line, { controller: "revocation-cleaner", failures: 1 });
  assert.match(error, /denied request: failed expression: oldObject.metadata.name != 'a-kept'$/);
});

test("a revocation for whose deletion the server is too busy is tried again soon, not an hour later", async (context) => {
  const server = await startTestServer({ settings: { controllers: "false" } });
  context.after(() => server.stop());
  const now = Date.now();
  for (const status of [429, 503]) {
    const name = `ended-${status}`;
    const own = inProcessTransport(server.handler, { bearerToken: server.adminToken });
    let isBusy = true;
    const transport: Transport = {
      async send(request) {
        if (request.method !== "DELETE" || !isBusy) return own.send(request);
        isBusy = false;
        return { status, headers: {}, body: ReadableStream.from([Buffer.from("{}")]) };
      },
      close() {},
    };
    const client = new ApiClient(transport);
    const spec = { token: { id: name }, expirationTimestamp: timestamp(now + day) };
    await client.resource(revocationResource(names)).create({ apiVersion: "", kind: "", metadata: { name }, spec });
    const waits: number[] = [];
    const schedule: Schedule = (look, milliseconds) => {
      waits.push(milliseconds);
      return atOnce(look, milliseconds);
    };
    const clock = { now: () => now + 2 * day };
    const cleaner = revocationCleaner(serviceAccountResource);
    const running = runControllers([cleaner], loopContext({ client, clock, schedule }));
    await waitForObject(client, revocationResource(names), { name }, (found) => found === undefined);
    await running.stop();
    assert.ok(
      waits.some((one) => one < 60_000),
      `${status}: ${waits.join()}`,
    );
  }
});
