import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { platformNames } from "../../../src/machinery/api/names.ts";
import type { ApiObject } from "../../../src/machinery/api/object-meta.ts";
import { ApiClient } from "../../../src/machinery/client/api-client.ts";
import type { ClientRequest } from "../../../src/machinery/client/transport.ts";
import { httpsTransport } from "../../../src/machinery/client/https/https-transport.ts";
import type { Backoff } from "../../../src/machinery/loops/backoff.ts";
import { Informer } from "../../../src/machinery/loops/informer.ts";
import { eventually } from "../../end-to-end/eventually.ts";
import { startCuttableProxy } from "../../reliability/soak/cuttable-proxy.ts";
import { resourceReferences } from "../../resource-references.ts";
import { startTestServer } from "../../test-server.ts";

/** The same pause after each failure. */
const always = (milliseconds: number): Backoff => ({
  firstMilliseconds: milliseconds,
  longestMilliseconds: milliseconds,
});

const { configMaps } = resourceReferences(platformNames);

test("an informer notices a dead connection without an error, and continues over a new one", async (context) => {
  const server = await startTestServer({ settings: { controllers: false } });
  const proxy = await startCuttableProxy(Number(new URL(server.url).port));
  const client = new ApiClient(
    httpsTransport({
      server: `https://127.0.0.1:${proxy.port}`,
      caCertificates: server.caCertificates,
      bearerToken: () => server.adminToken,
      watchIdleMilliseconds: 300,
    }),
  );
  const stopping = new AbortController();
  context.after(async () => {
    stopping.abort();
    client.close();
    await proxy.close();
    await server.stop();
  });
  let failures = 0;
  const informer = new Informer(client.resource(configMaps, "default"), { onError: () => void failures++ });
  await informer.start(stopping.signal);
  await eventually("the watch", () => proxy.connections() > 0);
  proxy.silence();
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "news", namespace: "default" } };
  await server.client.resource(configMaps, "default").create(object);
  await eventually("the news", () => informer.get("default/news"));
  assert.ok(failures > 0);
});

test("a watch asks the server to end it after five to ten minutes", async () => {
  let query = "";
  const client = new ApiClient({
    send: async (request) => {
      query = request.query ?? "";
      return { status: 200, headers: {}, body: (async function* () {})() };
    },
    close() {},
  });
  for await (const _ of client.resource(configMaps).watch({}, new AbortController().signal)) assert.fail();
  const seconds = Number(new URLSearchParams(query).get("timeoutSeconds"));
  assert.ok(seconds >= 300 && seconds <= 600, query);
});

test("an informer keeps no more objects than it may, and follows again when there are fewer", async (context) => {
  const server = await startTestServer({ settings: { controllers: false } });
  const stopping = new AbortController();
  context.after(async () => {
    stopping.abort();
    await server.stop();
  });
  const objects = server.client.resource(configMaps, "default");
  const create = (name: string) =>
    objects.create({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" } });
  const follow = () => {
    const errors: unknown[] = [];
    const informer = new Informer(objects, {
      mostObjects: 2,
      onError: (error) => errors.push(error),
      backoff: always(10),
    });
    const started = informer.start(stopping.signal);
    const names = () => [...informer.list()].map(({ metadata }) => metadata.name ?? "").sort();
    return { errors, started, names };
  };
  const early = follow();
  await early.started;
  for (const name of ["a", "b", "c"]) await create(name);
  const late = follow();
  for (const { errors } of [early, late]) {
    await eventually("the third object", () => errors.length > 1);
    assert.match(String(errors[0]), /there are more than 2 objects/);
  }
  assert.deepEqual([early.names(), late.names()], [["a", "b"], []]);
  await objects.delete("a");
  for (const { names } of [early, late]) await eventually("the other two", () => names().join() === "b,c");
  await late.started;
});

test("an informer lists again after watched events of more bytes than it may keep, and forgets what is not in the list", async (context) => {
  const stopping = new AbortController();
  context.after(() => stopping.abort());
  const configMap = (name: string) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, resourceVersion: "1" },
    data: { text: "x".repeat(1000) },
  });
  let watches = 0;
  const keptBeforeList: number[] = [];
  const client = clientOf(({ query = "" }) => {
    if (query.includes("watch=true")) return { type: "ADDED", object: configMap(`watched-${watches++}`) };
    keptBeforeList.push([...informer.list()].length);
    return { metadata: { resourceVersion: "1" }, items: [configMap("listed")] };
  });
  const errors: unknown[] = [];
  const informer: Informer<ApiObject> = new Informer(client.resource<ApiObject>(configMaps), {
    mostWatchedBytes: 5000,
    onError: (error) => errors.push(error),
    backoff: always(0),
  });
  await informer.start(stopping.signal);
  await eventually("the third list", () => keptBeforeList.length >= 3);
  // Of events with some more than 1000 bytes, the fifth is one too many.
  assert.deepEqual(keptBeforeList.slice(0, 3), [0, 5, 5]);
  assert.deepEqual(errors, []);
});

test("an informer tells what is added, changed and deleted, continues where it was, and tells what a new list shows", async () => {
  const configMap = (name: string, resourceVersion: string) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, resourceVersion },
  });
  const gone = { kind: "Status", code: 410, reason: "Expired", message: "too old resource version" };
  const stopping = new AbortController();
  const answers: readonly (readonly object[])[] = [
    [{ metadata: { resourceVersion: "5" }, items: [configMap("a", "1"), configMap("b", "2")] }],
    [
      { type: "ADDED", object: configMap("c", "6") },
      { type: "MODIFIED", object: configMap("a", "7") },
      { type: "DELETED", object: configMap("b", "8") },
      { type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } },
    ],
    [{ type: "ERROR", object: gone }],
    [{ metadata: { resourceVersion: "20" }, items: [configMap("a", "7"), configMap("d", "19")] }],
  ];
  const asked: string[] = [];
  const client = new ApiClient({
    async send({ query = "" }) {
      const parameters = new URLSearchParams(query);
      const answer = answers[asked.length];
      asked.push(parameters.has("watch") ? `watch after ${parameters.get("resourceVersion")}` : "list");
      if (answer === undefined) stopping.abort();
      const body = ReadableStream.from((answer ?? []).map((line) => Buffer.from(`${JSON.stringify(line)}\n`)));
      return { status: 200, headers: {}, body };
    },
    close() {},
  });
  const errors: string[] = [];
  const informer = new Informer(client.resource(configMaps), {
    onError: (error) => errors.push(String(error)),
    backoff: always(0),
  });
  const heard: string[] = [];
  const named = ({ metadata }: ApiObject): string => `${metadata.name}@${metadata.resourceVersion}`;
  informer.addHandler({
    onAdd: (object) => heard.push(`add ${named(object)}`),
    onUpdate: (object, previous) => heard.push(`update ${named(previous)} to ${named(object)}`),
    onDelete: (object) => heard.push(`delete ${named(object)}`),
  });
  await informer.start(stopping.signal);
  if (!stopping.signal.aborted) await once(stopping.signal, "abort");
  assert.deepEqual(asked, ["list", "watch after 5", "watch after 9", "list", "watch after 20"]);
  assert.deepEqual(heard, [
    "add a@1",
    "add b@2",
    "add c@6",
    "update a@1 to a@7",
    "delete b@8",
    "add d@19",
    "delete c@6",
  ]);
  assert.deepEqual([...informer.list()].map(named), ["a@7", "d@19"]);
  assert.equal(errors.length, 1);
});

test("an informer continues after a handler that throws, and tells the other handlers", async (context) => {
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "news", namespace: "default" } };
  const events = ["2", "3"].map((resourceVersion) => ({
    type: "MODIFIED",
    object: { ...object, metadata: { ...object.metadata, resourceVersion } },
  }));
  const bodies = [{ metadata: { resourceVersion: "1" }, items: [] }, ...events].map(
    (one) => `${JSON.stringify(one)}\n`,
  );
  const stopping = new AbortController();
  context.after(() => stopping.abort());
  const client = new ApiClient({
    send: async ({ query = "" }) => ({
      status: 200,
      headers: {},
      body: (async function* () {
        for (const body of query.includes("watch=") ? bodies.splice(0) : bodies.splice(0, 1)) yield Buffer.from(body);
      })(),
    }),
    close() {},
  });
  const errors: string[] = [];
  const informer = new Informer(client.resource(configMaps), {
    onError: (error) => void errors.push(String(error)),
    backoff: always(60_000),
  });
  const heard: string[] = [];
  const broken = (): never => {
    throw new Error("a bug");
  };
  informer.addHandler({ onAdd: broken, onUpdate: broken });
  const all = Promise.withResolvers<void>();
  informer.addHandler({
    onAdd: ({ metadata }) => void heard.push(`add ${metadata.resourceVersion}`),
    onUpdate({ metadata }) {
      heard.push(`update ${metadata.resourceVersion}`);
      all.resolve();
    },
  });
  await informer.start(stopping.signal);
  await all.promise;
  assert.deepEqual(heard, ["add 2", "update 3"]);
  assert.deepEqual(errors.slice(0, 2), ["Error: a bug", "Error: a bug"]);
});

const endings = [
  { milliseconds: 999, pauses: [100, 200, 400, 800] },
  { milliseconds: 1000, pauses: [100, 100, 100, 100] },
];
for (const { milliseconds, pauses } of endings) {
  test(`the pauses of an informer whose watches end after ${milliseconds} ms and a bookmark are of ${pauses.join()} ms`, async (context) => {
    const stopping = new AbortController();
    context.after(() => stopping.abort());
    let now = 0;
    const client = clientOf(({ query = "" }) => {
      if (!query.includes("watch=")) return { metadata: { resourceVersion: "1" }, items: [] };
      now += milliseconds;
      return { type: "BOOKMARK", object: { metadata: { resourceVersion: "2" } } };
    });
    const heard: number[] = [];
    const enough = Promise.withResolvers<void>();
    const informer = new Informer(client.resource(configMaps), {
      monotonic: { now: () => now },
      random: () => 1,
      async sleep(pause) {
        if (heard.push(pause) === pauses.length) enough.resolve();
        await nextTurn();
      },
    });
    await informer.start(stopping.signal);
    await enough.promise;
    assert.deepEqual(heard.slice(0, pauses.length), pauses);
  });
}

for (const [what, { tokens, failure }] of Object.entries({
  "whose page is followed by itself": { tokens: ["a", "a"], failure: "a page of the list leads back to one before it" },
  "whose pages lead to each other in turn": {
    tokens: ["a", "b", "a"],
    failure: "a page of the list leads back to one before it",
  },
  "without an end": {
    tokens: Array.from({ length: 20_000 }, (_, page) => `page ${page}`),
    failure: "the list has more than 20000 pages",
  },
})) {
  test(`a list ${what} is a failure, and is asked for again`, async (context) => {
    const stopping = new AbortController();
    context.after(() => stopping.abort());
    let pages = 0;
    const client = clientOf(() => ({ metadata: { resourceVersion: "1", continue: tokens[pages++] }, items: [] }));
    const errors: string[] = [];
    const informer = new Informer(client.resource(configMaps), {
      onError: (error) => void errors.push(String(error)),
      backoff: always(0),
    });
    await informer.start(stopping.signal);
    assert.deepEqual(errors, [`UnreadableAnswer: ${failure}`]);
    assert.equal(pages, tokens.length + 1);
  });
}

test("an informer that is stopped asks for no further page", async () => {
  const stopping = new AbortController();
  let pages = 0;
  const client = clientOf(() => {
    if (++pages === 3) stopping.abort();
    return { metadata: { resourceVersion: "1", continue: `page ${pages}` }, items: [] };
  });
  await new Informer(client.resource(configMaps)).start(stopping.signal);
  assert.equal(pages, 3);
});

test("an informer that may keep few objects lists them in one answer, also when they are large", async (context) => {
  const stopping = new AbortController();
  context.after(() => stopping.abort());
  const queries: string[] = [];
  const data = { text: " ".repeat(17 * 2 ** 20) };
  const client = clientOf(({ query = "" }) => {
    queries.push(query);
    return { metadata: { resourceVersion: "1" }, items: [{ metadata: { name: "large" }, data }] };
  });
  const informer = new Informer(client.resource(configMaps), { mostObjects: 2 });
  await informer.start(stopping.signal);
  assert.ok(informer.get("large"));
  assert.deepEqual(queries.slice(0, 1), ["limit=2"]);
});

/** A client of a server that answers with a line of JSON. */
const clientOf = (answer: (request: ClientRequest) => object): ApiClient =>
  new ApiClient({
    send: async (request) => ({
      status: 200,
      headers: {},
      body: (async function* () {
        yield Buffer.from(`${JSON.stringify(answer(request))}\n`);
      })(),
    }),
    close() {},
  });

test("an informer that is let in again says so, also when nothing changes for long", async () => {
  const stopping = new AbortController();
  const heard: string[] = [];
  async function* text(json: object): AsyncGenerator<Uint8Array> {
    yield Buffer.from(JSON.stringify(json));
  }
  async function* silence(): AsyncGenerator<Uint8Array> {
    stopping.abort();
    yield Buffer.alloc(0);
  }
  let watches = 0;
  const client = new ApiClient({
    async send({ query = "" }) {
      if (!query.includes("watch=true"))
        return {
          status: 200,
          headers: {},
          body: text({ kind: "ConfigMapList", metadata: { resourceVersion: "1" }, items: [] }),
        };
      return ++watches === 1
        ? { status: 401, headers: {}, body: text({ kind: "Status", reason: "Unauthorized" }) }
        : { status: 200, headers: {}, body: silence() };
    },
    close() {},
  });
  const informer = new Informer(client.resource(configMaps, "default"), {
    onHeard: () => heard.push("heard"),
    onError: () => heard.push("refused"),
    backoff: always(1),
  });
  await informer.start(stopping.signal);
  if (!stopping.signal.aborted) await once(stopping.signal, "abort");
  assert.deepEqual(heard, ["heard", "refused", "heard"]);
});
