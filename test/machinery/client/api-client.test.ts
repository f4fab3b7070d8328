import assert from "node:assert/strict";
import { describe, it } from "node:test";
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
