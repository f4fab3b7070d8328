import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ApiError } from "../../../src/machinery/api/api-error.ts";
import { watchEvents } from "../../../src/machinery/client/watch-events.ts";

async function* chunked(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (const size of sizes) {
    yield bytes.subarray(at, at + size);
    at += size;
  }
  yield bytes.subarray(at);
}

async function collect<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of iterable) items.push(item);
  return items;
}

test("events are the same however the bytes are cut, and have the length of their line", async () => {
  const events = ["ä", "b", "漢字"].map((name, n) => ({
    type: "ADDED",
    object: { apiVersion: "v1", kind: "X", metadata: { name, resourceVersion: String(n) } },
  }));
  const lines = events.map((event) => JSON.stringify(event));
  const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
  const expected = events.map((event, n) => ({ ...event, bytes: Buffer.byteLength(lines[n] ?? "") }));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(40), { maxLength: 30 }), async (sizes) => {
      assert.deepEqual(await collect(watchEvents(chunked(bytes, sizes))), expected);
    }),
  );
});

test("an ERROR event is thrown as the error that it describes", async () => {
  const status = { kind: "Status", code: 410, reason: "Expired", message: "too old resource version" };
  const bytes = Buffer.from(`${JSON.stringify({ type: "ERROR", object: status })}\n`);
  await assert.rejects(
    collect(watchEvents(chunked(bytes, []))),
    (error) => error instanceof ApiError && error.code === 410 && error.reason === "Expired",
  );
});

test("an ERROR event that describes no error is a failure of the watch", async () => {
  for (const object of [null, 5, {}, { kind: "Status", code: "410", message: 5 }]) {
    const bytes = Buffer.from(`${JSON.stringify({ type: "ERROR", object })}\n`);
    await assert.rejects(collect(watchEvents(chunked(bytes, []))), { code: 500, message: "the watch failed" });
  }
});

test("a line that is not JSON is an unreadable answer", async () => {
  await assert.rejects(collect(watchEvents(chunked(Buffer.from("<html>\n"), []))), {
    name: "UnreadableAnswer",
    message: "a line of the watch is not JSON",
  });
});

test("a line without an object with metadata is an unreadable answer", async () => {
  for (const line of ["null", "[]", "5", '{"type":"ADDED"}', '{"type":"ADDED","object":null}', '{"object":{}}']) {
    await assert.rejects(collect(watchEvents(chunked(Buffer.from(`${line}\n`), []))), {
      name: "UnreadableAnswer",
      message: "a watch event has no object",
    });
  }
});

test("a line that never ends is refused, and not copied for each piece until then", async (context) => {
  let copied = 0;
  const counted = (made: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> => {
    copied += made.length;
    return made;
  };
  const { alloc, concat } = Buffer;
  context.mock.method(Buffer, "alloc", (size: number) => counted(alloc(size)));
  context.mock.method(Buffer, "concat", (list: readonly Uint8Array[]) => counted(concat(list)));
  const piece = new Uint8Array(2 ** 18);
  const endless = async function* (): AsyncGenerator<Uint8Array> {
    for (;;) yield piece;
  };
  await assert.rejects(collect(watchEvents(endless())), {
    name: "UnreadableAnswer",
    message: /longer than any object/,
  });
  assert.ok(copied <= 4 * 2 ** 24, `${copied} bytes`);
});
