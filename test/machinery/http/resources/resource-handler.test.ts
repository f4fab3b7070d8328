import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ApiError, unauthorized } from "../../../../src/machinery/api/api-error.ts";
import type { HttpRequest, HttpResponse } from "../../../../src/machinery/api/http-message.ts";
import { statusSchema } from "../../../../src/machinery/schema/meta-schemas.ts";
import { compileProtobuf } from "../../../../src/machinery/schema/protobuf/protobuf.ts";
import { decodeEnvelope } from "../../../../src/machinery/schema/protobuf/protobuf-envelope.ts";
import type { ObjectSchema } from "../../../../src/machinery/schema/schema.ts";
import { createResourceHandler } from "../../../../src/machinery/http/resources/resource-handler.ts";
import type { Clock, Schedule } from "../../../../src/machinery/api/clock.ts";
import { defineReview } from "../../../../src/machinery/registry/definition/review-definition.ts";
import type { Column } from "../../../../src/machinery/registry/definition/resource-definition.ts";
import type { ReviewDefinition } from "../../../../src/machinery/registry/definition/review-definition.ts";
import type { RecordObject } from "../../../../src/machinery/http/request-audit.ts";
import { requestInfo } from "../../../../src/machinery/http/request-info.ts";
import { turnsDuring } from "../../../turns-during.ts";
import { apiError, toyBox, toyClock, toys } from "../../registry/toy-resource.ts";
import type { Toy, ToyBox } from "../../registry/toy-resource.ts";

interface Sent {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
  readonly plural?: string;
  readonly inProcess?: HttpRequest["inProcess"];
}

interface Scene {
  readonly box: ToyBox;
  /** Sends a request; `target` follows the collection's path. */
  send(target: string, sent?: Sent): Promise<HttpResponse>;
  readonly timers: { readonly milliseconds: number; readonly callback: () => void }[];
}

const inNamespace = "/apis/toys.example.com/v1/namespaces/box";

async function scene({
  decision = "allow",
  definition = toys,
  reviews = [],
  clock = toyClock,
  refuseRevoked = () => {},
  recordObject,
}: {
  decision?: "allow" | "deny";
  definition?: typeof toys;
  reviews?: readonly ReviewDefinition[];
  clock?: Clock;
  refuseRevoked?: () => void;
  recordObject?: RecordObject;
} = {}): Promise<Scene> {
  const box = await toyBox({ definition, clock });
  const timers: Scene["timers"] = [];
  const schedule: Schedule = (callback, milliseconds) => {
    const timer = { milliseconds, callback };
    timers.push(timer);
    return () => {
      if (timers.includes(timer)) timers.splice(timers.indexOf(timer), 1);
    };
  };
  const handle = createResourceHandler({
    registries: [box.registry],
    reviews,
    admission: [],
    authorize: () => ({ decision, reason: "" }),
    clock,
    schedule,
  });
  return {
    box,
    timers,
    async send(target, { method = "GET", body = "", headers = {}, plural = "toys", inProcess } = {}) {
      const [path = "", query = ""] = `${inNamespace}/${plural}${target}`.split("?");
      const info = requestInfo({ method, path, query });
      assert.equal(info.kind, "resource");
      const request = {
        method,
        path,
        query,
        headers: { "user-agent": "test/1.0", ...headers },
        connection: { remoteAddress: "127.0.0.1", peerCertificates: [] },
        readBody: async () => Buffer.from(body),
        signal: new AbortController().signal,
        inProcess,
      };
      const user = { username: "child", groups: [], extra: {} };
      const audited = recordObject && { recordObject, annotate() {}, nameObject() {} };
      return handle({ request, info, user, refuseRevoked, audited });
    },
  };
}

/** The members of answers that are looked at here. */
interface Answer {
  readonly kind: string;
  readonly message: string;
  readonly status: string;
  readonly code: number;
  readonly details: unknown;
  readonly metadata: { readonly remainingItemCount?: number };
  readonly items: unknown[] | null;
  readonly rows: { readonly cells: unknown[]; readonly object: unknown }[];
  readonly columnDefinitions: { readonly name: string }[] | null;
}

const json = ({ body }: HttpResponse): Answer => JSON.parse(String(body)) as Answer;
const table = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
const partial = { accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io" };
const partialList = { accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io" };

describe("an object", () => {
  it("is answered without a promise, as the text that is stored", async () => {
    const { box, send } = await scene();
    const stored = await box.add("bear", { color: "red" });
    const first = await send("/bear");
    assert.equal(first.body, `${stored.text}\n`);
    assert.equal((await send("/bear")).body, first.body);
    assert.deepEqual(json(first), stored.object);
  });

  it("is served as YAML, protobuf, metadata and table", async () => {
    const { box, send } = await scene();
    await box.add("bear", { color: "red" });
    assert.match(String((await send("/bear", { headers: { accept: "application/yaml" } })).body), /^apiVersion: toys/);
    const protobuf = await send("/bear", { headers: { accept: "application/vnd.kubernetes.protobuf" } });
    assert.equal(String((protobuf.body as Buffer).subarray(0, 3)), "k8s");
    assert.equal(json(await send("/bear", { headers: partial })).kind, "PartialObjectMetadata");
    const { rows, columnDefinitions } = json(await send("/bear?includeObject=None", { headers: table }));
    assert.deepEqual(rows, [{ cells: ["bear", "red"], object: null }]);
    assert.deepEqual(
      columnDefinitions?.map(({ name }) => name),
      ["Name", "Color"],
    );
    await assert.rejects(send("/bear", { headers: partialList }), apiError(406, "is not a list"));
    await assert.rejects(send("/bear?includeObject=x", { headers: table }), apiError(400, "includeObject"));
  });

  it("that does not exist is a 404", async () => {
    const { send } = await scene();
    await assert.rejects(send("/bear"), apiError(404, 'toys.toys.example.com "bear" not found'));
  });
});

describe("a review", () => {
  it("that is long is answered in several turns of the event loop", async (t) => {
    const look = defineReview<Toy>({ ...toys, kind: "Look", create: async (object) => ({ object }) });
    const { send } = await scene({ reviews: [look] });
    const body = JSON.stringify({ color: "x".repeat(3000) });
    t.mock.method(
      performance,
      "now",
      (
        (milliseconds) => () =>
          (milliseconds += 10)
      )(0),
    );
    const turns = await turnsDuring(async () => {
      assert.equal((await send("", { plural: "looks", method: "POST", body })).status, 201);
    });
    assert.equal(turns, 5, "before it is read, decoded, tracked and shown, and before it is decided");
  });
});

describe("a list", () => {
  it("joins its items, which carry no kind and apiVersion", async () => {
    const { box, send } = await scene();
    assert.deepEqual(json(await send("")).items, []);
    const { object } = await box.add("bear");
    await box.add("wolf");
    const list = json(await send("?limit=1"));
    const { kind: _kind, apiVersion: _apiVersion, ...item } = object;
    assert.deepEqual(list.items, [item]);
    assert.equal(list.kind, "ToyList");
    assert.equal(list.metadata.remainingItemCount, 1);
    assert.equal(json(await send("", { headers: { accept: "application/json;pretty=1" } })).items?.length, 2);
  });

  it("has the same form as upstream's when it is empty", async () => {
    const { send } = await scene();
    assert.equal(json(await send("", { headers: partialList })).items, null);
    assert.deepEqual(json(await send("", { headers: table })).rows, []);
    assert.equal((await send("", { headers: partial })).status, 406);
  });
});

describe("a long object", () => {
  it("is written as YAML in turns, in the answer to a read and to a write", async (context) => {
    const { box, send } = await scene();
    const color = "red".repeat(10_000);
    await box.add("bear", { color });
    const yaml = { headers: { accept: "application/yaml" } };
    const body = JSON.stringify({ metadata: { name: "bear", labels: { a: "b" } }, color });
    await send("/bear", { method: "PUT", body }); // later ones change nothing: no turns pass while the store writes
    await nextTurn(); // the turns of other tests end
    let milliseconds = performance.now();
    context.mock.method(performance, "now", () => (milliseconds += 10)); // each line takes as long as a turn
    for (const sent of [yaml, { ...yaml, method: "PUT", body }]) {
      const jsonTurns = await turnsDuring(() => send("/bear", { ...sent, headers: {} }));
      const yamlTurns = await turnsDuring(async () => {
        const { status, body: written } = await send("/bear", sent);
        assert.deepEqual([status, String(written).split(":")[0]], [200, "apiVersion"]);
      });
      assert.ok(yamlTurns >= jsonTurns + 8, `${yamlTurns} turns, of JSON ${jsonTurns}`);
    }
  });
});

describe("an apply of a long configuration", () => {
  it("lets others in between its steps, also one of the server's own loops", async (context) => {
    const { send } = await scene();
    const apiVersion = "toys.example.com/v1";
    let milliseconds = performance.now();
    context.mock.method(performance, "now", () => (milliseconds += 10)); // each step takes as long as a turn
    const headers = { "content-type": "application/apply-patch+yaml" };
    for (const [name, inProcess] of [["bear"], ["wolf", { value: undefined, transaction: undefined }]] as const) {
      await nextTurn(); // the turns of other requests end
      const body = JSON.stringify({ apiVersion, kind: "Toy", metadata: { name }, color: "red".repeat(10_000) });
      const turns = await turnsDuring(async () => {
        const { status } = await send(`/${name}?fieldManager=a`, { method: "PATCH", headers, body, inProcess });
        assert.equal(status, 201);
      });
      assert.ok(turns >= 11, String(turns));
    }
  });
});

describe("a long patch", () => {
  it("is read in turns for the audit log too", async (context) => {
    const recorded: unknown[] = [];
    const scenes = [await scene(), await scene({ recordObject: (object) => recorded.push(object) })];
    const patch = { color: "red", numbers: Array<number>(20_000).fill(1.5) };
    const sent = {
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json" },
      body: JSON.stringify(patch),
    };
    const turns: number[] = [];
    for (const { box } of scenes) await box.add("bear");
    await nextTurn(); // the turns of other tests end
    let milliseconds = performance.now();
    context.mock.method(performance, "now", () => (milliseconds += 10)); // each step takes as long as a turn
    for (const { send } of scenes) {
      turns.push(await turnsDuring(async () => assert.equal((await send("/bear", sent)).status, 200)));
    }
    const [alone = 0, andRecorded = 0] = turns;
    assert.ok(andRecorded >= alone + 20, `${andRecorded} turns, unrecorded ${alone}`);
    assert.deepEqual(recorded, [patch]);
  });
});

describe("a request that waits for its turn", () => {
  const yaml = { method: "POST", headers: { "content-type": "application/yaml" }, body: "metadata: {name: wolf}" };
  for (const { what, target, sent = {}, earlierChecks = 0 } of [
    { what: "a list", target: "" },
    { what: "a get of a long object", target: "/bear" },
    { what: "a create in YAML, whose body had come", target: "", sent: yaml, earlierChecks: 1 },
  ])
    it(`is refused when the credential of its sender is revoked meanwhile: ${what}`, async () => {
      let checks = 0;
      const { box, send } = await scene({
        refuseRevoked() {
          if (++checks > earlierChecks) throw unauthorized();
        },
      });
      await box.add("bear", { color: "red".repeat(10_000) });
      const refused = await send(target, sent).then(
        ({ status }) => status,
        (error: unknown) => error instanceof ApiError && error.code,
      );
      assert.equal(refused, 401);
      assert.equal(box.registry.peek({ namespace: "box", name: "wolf" }), undefined);
    });
});

describe("a write", () => {
  const create = (body: string, more: Sent = {}): Sent => ({ method: "POST", body, ...more });

  it("answers 201 and warns of unknown fields in headers", async () => {
    const { send } = await scene();
    const response = await send("", create('{"metadata":{"name":"bear"},"size":1,"color":"beige"}'));
    assert.equal(response.status, 201);
    assert.deepEqual(response.headers["warning"], ['299 - "unknown field \\"size\\""', '299 - "color: beige is dull"']);
  });

  it("refuses bodies in upstream's words", async () => {
    const { send } = await scene();
    const refusals: readonly [string, string][] = [
      [
        "",
        "the object provided is unrecognized (must be of type Toy): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)",
      ],
      ["[]", "couldn't get version/kind"],
      [
        '{"kind":"Toy","apiVersion":"a/b/c"}',
        'the object provided is unrecognized (must be of type Toy): unexpected GroupVersion string: a/b/c ({"kind":"Toy","apiVersion":"a/ ...)',
      ],
      ['{"kind":"Pod","apiVersion":"v1"}', 'Pod in version "v1" cannot be handled as a Toy'],
      ['{"color":1}', 'Toy in version "v1" cannot be handled as a Toy: json: cannot unmarshal number'],
      ['{"apiVersion":"toys.example.com/v2"}', "the API version in the data (toys.example.com/v2) does not match"],
    ];
    for (const [body, message] of refusals) {
      const response = await send("", create(body));
      assert.equal(response.status, 400, body);
      assert.ok(json(response).message.includes(message), json(response).message);
    }
    const strict = await send("?fieldValidation=Strict", create('{"metadata":{"name":"a"},"size":1}'));
    assert.ok(json(strict).message.endsWith('strict decoding error: unknown field "size"'));
    assert.equal((await send("", create("{}", { headers: { "content-type": "text/plain" } }))).status, 415);
    assert.equal((await send("?dryRun=x", create("{}"))).status, 422);
  });

  it("deletes with the options of the body, or of the query without one", async () => {
    const { box, send } = await scene();
    await box.add("bear");
    const remove = (query: string, body = "") => send(`/bear${query}`, { method: "DELETE", body });
    assert.equal((await remove("?uid=other")).status, 409);
    assert.equal((await remove("", '{"preconditions":{"uid":"other"}}')).status, 409);
    assert.equal((await remove("?propagationPolicy=")).status, 422);
    assert.equal((await remove("", "{")).status, 400);
    for (const member of ["kind", "Kind"]) {
      const { message } = json(await remove("", `{"${member}":"Toy"}`));
      assert.equal(message, "decoded object cannot be converted to DeleteOptions");
    }
    assert.equal(json(await remove("", '{"apiVersion":"a/b/c"}')).message, "unexpected GroupVersion string: a/b/c");
    assert.equal(json(await remove("?uid=other", "{}")).kind, "Toy");
  });

  it("answers a delete with a Status if the kind says so", async () => {
    const definition = { ...toys, answersDeletedObject: false, answersStatusOfDeletedCollection: true };
    const { box, send } = await scene({ definition });
    const { object } = await box.add("bear");
    const { uid } = object.metadata;
    const answer = json(await send("/bear", { method: "DELETE" }));
    assert.deepEqual(answer.details, { name: "bear", group: "toys.example.com", kind: "toys", uid });
    assert.equal(json(await send("", { method: "DELETE" })).status, "Success");
  });

  it("answers a delete with a Status where a table is asked for, but refuses options that no table has", async () => {
    const definition = { ...toys, answersDeletedObject: false, answersStatusOfDeletedCollection: true };
    const { box, send } = await scene({ definition });
    for (const path of ["", "/bear"]) {
      await box.add("bear");
      const remove = (query: string) => send(`${path}${query}`, { method: "DELETE", headers: table });
      assert.match(json(await remove("?includeObject=x")).message, /includeObject: Invalid value: "x"/);
      await box.add("bear");
      assert.equal(json(await remove("?includeObject=None")).kind, "Status");
    }
  });

  it("answers the deletion of a collection with the list of deleted objects otherwise", async () => {
    const { box, send } = await scene();
    await box.add("bear");
    const { kind, items } = json(await send("", { method: "DELETE" }));
    assert.equal(kind, "ToyList");
    assert.equal(items?.length, 1);
    assert.deepEqual(json(await send("")).items, []);
  });

  it("that creates an object by an update requires the permission to create", async () => {
    const { send } = await scene({ decision: "deny", definition: { ...toys, allowsCreateOnUpdate: true } });
    const response = await send("/bear", { method: "PUT", body: '{"metadata":{"name":"bear"}}' });
    assert.equal(response.status, 403);
  });

  it("of a deprecated version has a warning in its answer, failures included", async () => {
    const { send } = await scene({
      definition: { ...toys, deprecation: { deprecatedIn: "1.2", unavailableIn: "1.5" } },
    });
    const response = await send("/bear");
    assert.equal(response.status, 404);
    assert.deepEqual(response.headers["warning"], [
      '299 - "toys.example.com/v1 Toy is deprecated in v1.2+, unavailable in v1.5+"',
    ]);
  });
});

describe("a watch", () => {
  interface Reader {
    readonly frames: Buffer[];
    isEnded: boolean;
    buffered: number;
    stop(): void;
  }

  async function read(response: HttpResponse, { buffered = 0 } = {}): Promise<Reader> {
    const { body } = response;
    assert.ok(typeof body === "object" && "start" in body);
    const reader: Reader = { frames: [], isEnded: false, buffered, stop: () => {} };
    reader.stop = body.start({
      write: (bytes) => void reader.frames.push(bytes as Buffer),
      bufferedBytes: () => reader.buffered,
      end() {
        reader.isEnded = true;
        reader.stop(); // as a connection does
      },
    });
    await nextTurn();
    return reader;
  }
  async function events({ frames }: Reader): Promise<{ readonly type: string; readonly object: Answer }[]> {
    await nextTurn();
    const lines = Buffer.concat(frames).toString().split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as { type: string; object: Answer });
  }

  it("shares the same bytes with all watches of the same form", async () => {
    const { box, send } = await scene();
    const [one, two] = await Promise.all([read(await send("?watch=1")), read(await send("?watch=true"))]);
    const stored = await box.add("bear");
    assert.deepEqual(await events(one), [{ type: "ADDED", object: stored.object }]);
    assert.equal(one.frames[0], two.frames[0]);
  });

  it("joins the events of one turn once for all watches", async () => {
    const { box, send } = await scene();
    const [one, two] = [await read(await send("?watch=1")), await read(await send("?watch=1"))];
    await Promise.all([box.add("bear"), box.add("wolf")]);
    assert.equal((await events(one)).length, 2);
    assert.equal(one.frames.length, 1);
    assert.equal(one.frames[0], two.frames[0]);
  });

  it("sends columns in the first table only", async () => {
    const { box, send } = await scene();
    const reader = await read(await send("?watch=1", { headers: table }));
    await box.add("bear");
    await box.add("wolf");
    const [first, second] = await events(reader);
    assert.equal(first?.object.columnDefinitions?.length, 2);
    assert.equal(second?.object.columnDefinitions, null);
    assert.deepEqual(second?.object.rows[0]?.cells, ["wolf", ""]);
  });

  it("shares the bytes of a table with all watches of the same form", async () => {
    const { box, send } = await scene();
    const open = async (query: string): Promise<Reader> => read(await send(`?watch=1${query}`, { headers: table }));
    const [one, two, other] = [await open(""), await open(""), await open("&includeObject=Object")];
    await box.add("bear");
    await nextTurn();
    await box.add("wolf");
    await nextTurn();
    assert.deepEqual([one.frames.length, two.frames.length], [2, 2]);
    assert.equal(one.frames[0], two.frames[0]);
    assert.equal(one.frames[1], two.frames[1]);
    assert.notEqual(one.frames[0], other.frames[0]);
  });

  it("sends a table with columns first and ages of its own second, whatever other watches got", async () => {
    let now = toyClock.now();
    const age: Column<Toy> = { name: "Now", description: "", cell: (_toy, at) => at.now };
    const { box, send } = await scene({ definition: { ...toys, columns: [age] }, clock: { now: () => now } });
    const open = async (): Promise<Reader> => read(await send("?watch=1", { headers: table }));
    const tables = async (reader: Reader): Promise<unknown[]> =>
      (await events(reader)).map(({ object: { columnDefinitions, rows } }) => [
        columnDefinitions !== null,
        rows[0]?.cells[0],
      ]);
    await box.add("bear");
    const started = now;
    const one = await open();
    now += 1000;
    const two = await open();
    await box.add("wolf");
    assert.deepEqual(await tables(one), [
      [true, started],
      [false, now],
    ]);
    assert.deepEqual(await tables(two), [
      [true, now],
      [false, now],
    ]);
  });

  it("sends bookmarks where they are allowed, and marks the one at the end of the initial state", async () => {
    const { box, send, timers } = await scene();
    const query = "?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    const reader = await read(await send(query));
    const revision = String(box.store.latestRevision());
    timers.find(({ milliseconds }) => milliseconds === 60_000)?.callback();
    const [end, later] = await events(reader);
    assert.deepEqual(end, {
      type: "BOOKMARK",
      object: {
        kind: "Toy",
        apiVersion: "toys.example.com/v1",
        metadata: { resourceVersion: revision, annotations: { "k8s.io/initial-events-end": "true" } },
      },
    });
    assert.deepEqual(later?.object.metadata, { resourceVersion: revision });
  });

  it("ends when its time is over", async () => {
    const { send, timers } = await scene();
    const reader = await read(await send("?watch=1&timeoutSeconds=7"));
    timers.find(({ milliseconds }) => milliseconds === 7000)?.callback();
    assert.equal(reader.isEnded, true);
  });

  it("is told that nobody writes the future version whose state it asks for, however short its time is", async () => {
    const { send, timers } = await scene();
    const state = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=99";
    const reader = await read(await send(`?watch=1&timeoutSeconds=1&${state}`));
    timers.find(({ milliseconds }) => milliseconds === 1000)?.callback();
    while (!reader.isEnded) await nextTurn();
    const [error] = await events(reader);
    assert.deepEqual([error?.type, error?.object.code], ["ERROR", 504]);
  });

  it("sends a last bookmark shortly before its time is over", async () => {
    const { box, send, timers } = await scene();
    const reader = await read(await send("?watch=1&allowWatchBookmarks=true&timeoutSeconds=7"));
    await box.add("bear");
    await box.add("wolf");
    timers.find(({ milliseconds }) => milliseconds === 5000)?.callback();
    const last = (await events(reader)).at(-1);
    assert.deepEqual(
      [last?.type, last?.object.metadata],
      ["BOOKMARK", { resourceVersion: String(box.store.latestRevision()) }],
    );
  });

  it("that meets a bug ends alone, and the process logs the error as an unhandled rejection", async () => {
    const bug = new Error("a cell that cannot be made");
    const columns = toys.columns.map((column) => ({
      ...column,
      cell() {
        throw bug;
      },
    }));
    const { box, send, timers } = await scene({ definition: { ...toys, columns } });
    const ofEvent = await read(await send("?watch=1", { headers: table }));
    const ofBookmark = await read(
      await send("?watch=1&allowWatchBookmarks=true&resourceVersion=1&timeoutSeconds=7", { headers: table }),
    );
    const other = await read(await send("?watch=1"));
    const ofTests = process.rawListeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection");
    const errors: unknown[] = [];
    process.on("unhandledRejection", (error) => errors.push(error));
    try {
      timers.find(({ milliseconds }) => milliseconds === 5000)?.callback();
      await nextTurn();
      assert.deepEqual([ofEvent.isEnded, ofBookmark.isEnded, errors], [false, true, [bug]]);
      await box.add("bear");
      assert.equal((await events(other)).length, 1);
      assert.deepEqual([ofEvent.isEnded, ofBookmark.frames.length, errors], [true, 0, [bug, bug]]);
    } finally {
      process.removeAllListeners("unhandledRejection");
      for (const listener of ofTests) process.on("unhandledRejection", listener as () => void); // what rawListeners returns
    }
  });

  it("that ends with one of its bookmarks makes no other bookmark afterwards", async () => {
    const { send, timers } = await scene();
    const reader = await read(await send("?watch=1&allowWatchBookmarks=true&resourceVersion=1"));
    reader.buffered = 1e9;
    const [bookmark] = timers.splice(0, 1);
    bookmark?.callback();
    assert.deepEqual([bookmark?.milliseconds, reader.isEnded, timers], [60_000, true, []]);
  });

  it("closes a reader that does not read", async () => {
    const { box, send } = await scene();
    const reader = await read(await send("?watch=1"));
    reader.buffered = 1e9;
    await box.add("bear");
    assert.equal(reader.isEnded, true);
  });

  it("sends no more of the initial state and the history while its reader does not read", async () => {
    for (const query of ["?watch=1", "?watch=1&resourceVersion=1"]) {
      const { box, send, timers } = await scene();
      for (const name of ["bear", "duck", "wolf"]) await box.add(name);
      const reader = await read(await send(query), { buffered: 2 * 1024 * 1024 });
      assert.equal((await events(reader)).length, 1);
      const lookAgain = (milliseconds: number): void => {
        const looks = timers.filter((timer) => timer.milliseconds === milliseconds);
        assert.equal(looks.length, 1);
        looks[0]?.callback();
      };
      lookAgain(1);
      assert.equal((await events(reader)).length, 1);
      reader.buffered = 0;
      lookAgain(2);
      while ((await events(reader)).length < 3) await nextTurn();
      await box.add("zebra");
      while ((await events(reader)).length < 4) await nextTurn();
    }
  });

  it("from a version that is no longer kept is a stream with one error", async () => {
    const { box, send } = await scene();
    for (let index = 0; index < 1002; index += 1) await box.add(`toy-${index}`);
    const reader = await read(await send("?watch=1&resourceVersion=1"));
    assert.equal((await events(reader))[0]?.object.code, 410);
    assert.equal(reader.isEnded, true);
    const accept = "application/vnd.kubernetes.protobuf";
    const binary = await read(await send("?watch=1&resourceVersion=1", { headers: { accept } }));
    assert.equal(binary.isEnded, true);
    const frame = binary.frames[0] ?? Buffer.alloc(0);
    assert.equal(frame.subarray(6, 11).toString(), "ERROR");
    const { kind, raw } = decodeEnvelope(frame.subarray(frame.indexOf("k8s\0")));
    assert.deepEqual([kind, compileProtobuf(statusSchema as ObjectSchema).decode(raw)["code"]], ["Status", 410]);
  });

  it("with an invalid resourceVersion is refused before it starts", async () => {
    const { send } = await scene();
    assert.equal((await send("?watch=1&resourceVersion=x")).status, 400);
  });

  it("streams no YAML", async () => {
    const { send } = await scene();
    const response = await send("?watch=1", { headers: { accept: "application/yaml" } });
    assert.equal(response.status, 406);
  });
});
