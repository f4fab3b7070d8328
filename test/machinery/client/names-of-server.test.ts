import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiClient } from "../../../src/machinery/client/api-client.ts";
import { namesOfServer } from "../../../src/machinery/client/names-of-server.ts";

test("the names of a server are not read from an answer that is larger than any list of groups", async () => {
  let read = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (; ; read++) yield Buffer.alloc(2 ** 20, " ");
  }
  const client = new ApiClient({ send: async () => ({ status: 200, headers: {}, body: endless() }), close() {} });
  await assert.rejects(namesOfServer(client), /the answer has more than 16 MiB/);
  assert.equal(read, 16, "the rest was not asked for");
});
