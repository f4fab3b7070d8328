import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ApiError } from "../../../src/machinery/api/api-error.ts";
import { ApiClient } from "../../../src/machinery/client/api-client.ts";
import type { ResourceType } from "../../../src/machinery/api/resource-type.ts";

const configMaps: ResourceType = {
  group: "",
  version: "v1",
  plural: "configmaps",
  kind: "ConfigMap",
  scope: "Namespaced",
};

/** The client of a server that answers a request with these parts. `read`: how many of them were read. */
function clientOf(
  status: number,
  parts: readonly string[],
): { readonly client: ApiClient; readonly read: () => number } {
  let read = 0;
  async function* body(): AsyncGenerator<Uint8Array> {
    for (const part of parts) {
      read += 1;
      yield Buffer.from(part);
    }
  }
  const client = new ApiClient({ send: async () => ({ status, headers: {}, body: body() }), close() {} });
  return { client, read: () => read };
}

async function* parts(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

describe("the client's deletion of a collection", () => {
  it("reads the answer to its end, but parses none of it", async (t) => {
    const { client, read } = clientOf(200, ['{"kind":"ConfigMapList","metadata":{},"items":[', "]}"]);
    const parse = t.mock.method(JSON, "parse");
    await client.resource(configMaps, "default").deleteCollection();
    assert.equal(read(), 2);
    assert.equal(parse.mock.callCount(), 0);
  });

  it("rejects with the server's error", async () => {
    const { client } = clientOf(403, ['{"kind":"Status","apiVersion":"v1","code":403,"message":"no"}']);
    await assert.rejects(client.resource(configMaps, "default").deleteCollection(), { code: 403, message: "no" });
  });
});

describe("the client's list of metadata", () => {
  it("has no items when the server says null, as upstream does of an empty one", async () => {
    const { client } = clientOf(200, ['{"kind":"PartialObjectMetadataList","metadata":{},"items":null}']);
    assert.deepEqual(await client.resource(configMaps, "default").listMetadata(), []);
  });

  it("rejects an answer that is no list", async () => {
    const { client } = clientOf(200, ['{"kind":"ConfigMap","metadata":{}}']);
    await assert.rejects(client.resource(configMaps, "default").listMetadata(), /the answer is not a list/);
  });
});

describe("the client's read of one object", () => {
  it("rejects an answer that is larger than any object", async () => {
    const { client, read } = clientOf(
      200,
      Array.from({ length: 100 }, () => " ".repeat(2 ** 20)),
    );
    await assert.rejects(client.resource(configMaps, "default").get("x"), /the answer has more than 16 MiB/);
    assert.equal(read(), 17);
  });
});

describe("the error of a refused request", () => {
  const errorFor = async (status: object): Promise<ApiError> => {
    const { client } = clientOf(400, [JSON.stringify({ kind: "Status", ...status })]);
    const error: unknown = await client.request("/").catch((thrown: unknown) => thrown);
    assert(error instanceof ApiError);
    return error;
  };

  it("has texts no longer than a Signet server makes them", async () => {
    const { message, reason = "" } = await errorFor({ message: "m".repeat(2 ** 20), reason: "r".repeat(2 ** 20) });
    assert.deepEqual([message.slice(65_535), message.length], [`m... (${2 ** 20} characters)`, 65_536 + 24]);
    assert.equal(reason.length, 256 + 24);
  });

  it("says how long to wait: as the Status does, or else the header, as of a proxy's page", async () => {
    const waits: unknown[] = [];
    for (const text of ["<html>", JSON.stringify({ kind: "Status", details: { retryAfterSeconds: 7 } })]) {
      const client = new ApiClient({
        send: async () => ({ status: 503, headers: { "retry-after": "60" }, body: parts(text) }),
        close() {},
      });
      await client.request("/").catch((error: ApiError) => waits.push(error.retryAfterSeconds));
    }
    assert.deepEqual(waits, [60, 7]);
  });

  it("has nothing of a field that is of another type than the API says", async () => {
    const error = await errorFor({ message: {}, reason: ["Conflict"], details: "x" });
    assert.deepEqual([error.reason, error.details], [undefined, undefined]);
  });

  it("says its code, and not the whole Status, where the Status has no message", async () => {
    for (const message of [undefined, "", {}]) {
      assert.equal((await errorFor({ message })).message, "the server answered 400");
    }
  });
});
