import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { ApiClient } from "../../../src/machinery/client/api-client.ts";
import { EndlessList, listPages } from "../../../src/machinery/client/list-pages.ts";
import { resourceReferences } from "../../resource-references.ts";

const { configMaps } = resourceReferences(platformNames);
const mebibyte = " ".repeat(2 ** 20);

/** A server with a list of objects of one size. It answers as many as it is asked for. */
function serverOf({ objects, mebibytes }: { readonly objects: number; readonly mebibytes: number }) {
  const limits: number[] = [];
  async function* answer(query: URLSearchParams): AsyncGenerator<Uint8Array> {
    const limit = Number(query.get("limit"));
    limits.push(limit);
    const begin = Number(query.get("continue"));
    const end = Math.min(begin + limit, objects);
    yield Buffer.from('{"items":[');
    for (let object = begin; object < end; object++) {
      yield Buffer.from(`${object === begin ? "" : ","}{"metadata":{"name":"${object}"}}`);
      for (let count = 0; count < mebibytes; count++) yield Buffer.from(mebibyte);
    }
    yield Buffer.from(`],"metadata":${JSON.stringify(end < objects ? { continue: String(end) } : {})}}`);
  }
  const client = new ApiClient({
    send: async ({ query }) => ({ status: 200, headers: {}, body: answer(new URLSearchParams(query)) }),
    close() {},
  });
  const pages = async (): Promise<readonly (readonly (string | undefined)[])[]> => {
    const found = [];
    for await (const { items } of listPages(client.resource(configMaps))) {
      found.push(items.map(({ metadata }) => metadata.name));
    }
    return found;
  };
  return { limits, pages };
}

/** Reads the pages of a list of 25,000. `tokenAfter` makes the token behind each page; they are numbered from 1. */
async function readManyPages(tokenAfter: (page: number) => string, options: { readonly signal?: AbortSignal } = {}) {
  let count = 0;
  async function* answer(): AsyncGenerator<Uint8Array> {
    count += 1;
    yield Buffer.from(JSON.stringify({ items: [], metadata: { continue: count < 25_000 ? tokenAfter(count) : "" } }));
  }
  const send = async () => ({ status: 200, headers: {}, body: answer() });
  const client = new ApiClient({ send, close() {} });
  let fault: unknown;
  try {
    for await (const _page of listPages(client.resource(configMaps), options));
  } catch (error) {
    fault = error;
  }
  return { fault, count };
}

describe("the pages of a list", () => {
  it("are shorter where the objects are too large for one answer", async () => {
    const { limits, pages } = serverOf({ objects: 20, mebibytes: 1 });
    const names = Array.from({ length: 20 }, (_, object) => String(object));
    assert.deepEqual(await pages(), [names.slice(0, 8), names.slice(8, 16), names.slice(16)]);
    assert.deepEqual(limits, [500, 63, 8, 8, 8]);
  });

  it("fail when a single object is too large", async () => {
    const { limits, pages } = serverOf({ objects: 2, mebibytes: 17 });
    await assert.rejects(pages(), /the answer has more than 16 MiB/);
    assert.deepEqual(limits, [500, 63, 8, 1]);
  });

  it("fail when a page leads back to one before it, also to the page before the last one", async () => {
    for (const tokens of [["a"], ["a", "b"]]) {
      const { fault, count } = await readManyPages((page) => tokens[page % tokens.length] ?? "");
      assert.ok(fault instanceof EndlessList);
      assert.equal(fault.message, "a page of the list leads back to one before it");
      assert.equal(count, tokens.length + 1);
    }
  });

  it("fail after 20,000 pages, because such a list has no end", async () => {
    const { fault, count } = await readManyPages(String);
    assert.ok(fault instanceof EndlessList);
    assert.equal(fault.message, "the list has more than 20000 pages");
    assert.equal(count, 20_000);
  });

  it("end between two of them when the caller needs no more", async () => {
    const caller = new AbortController();
    const { fault, count } = await readManyPages(
      (page) => {
        if (page === 3) caller.abort(new Error("no longer wanted"));
        return String(page);
      },
      { signal: caller.signal },
    );
    assert.equal(fault, caller.signal.reason);
    assert.equal(count, 3);
  });
});
