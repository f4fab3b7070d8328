import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { HttpResponse } from "../../../../src/machinery/api/http-message.ts";
import { statusSchema } from "../../../../src/machinery/schema/meta-schemas.ts";
import { compileProtobuf } from "../../../../src/machinery/schema/protobuf/protobuf.ts";
import { decodeEnvelope } from "../../../../src/machinery/schema/protobuf/protobuf-envelope.ts";
import type { ObjectSchema } from "../../../../src/machinery/schema/schema.ts";
import type { Column } from "../../../../src/machinery/registry/definition/resource-definition.ts";
import { toyClock, toys } from "../../registry/toy-resource.ts";
import type { Toy } from "../../registry/toy-resource.ts";
import { scene, table } from "./handler-under-test.ts";
import type { Answer } from "./handler-under-test.ts";

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
