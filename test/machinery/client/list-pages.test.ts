import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { ApiClient } from "../../../src/machinery/client/api-client.ts";
import { listPages } from "../../../src/machinery/client/list-pages.ts";
import { resourceReferences } from "../../resource-references.ts";

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
    for await (const { items } of listPages(client.resource(resourceReferences(platformNames).configMaps))) {
      found.push(items.map(({ metadata }) => metadata.name));
    }
    return found;
  };
  return { limits, pages };
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
});
