import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { inProcessTransport } from "../../../src/machinery/client/in-process-transport.ts";
import { readText } from "../../../src/machinery/client/transport.ts";
import type { Transport } from "../../../src/machinery/client/transport.ts";
import { startTestServer } from "../../test-server.ts";
import { takeTurnForEachLook } from "../../turns-during.ts";

const collection = "/api/v1/namespaces/default/configmaps";

describe("a request in the server's process", () => {
  let transport: Transport;
  before(async () => {
    const server = await startTestServer({ settings: { controllers: false } });
    transport = inProcessTransport(server.handler, { bearerToken: server.adminToken });
  });

  it("is refused when its body is longer than it may be", async () => {
    const body = JSON.stringify({ kind: "DeleteOptions", apiVersion: "v1", unknown: "x".repeat(64 * 1024) });
    const headers = { "content-type": "application/json" };
    const answer = await transport.send({ method: "DELETE", path: `${collection}/a`, headers, body });
    assert.equal(answer.status, 413);
    assert.match(await readText(answer.body), /limit is 65536/);
  });

  it("causes no more work when its caller no longer waits for it: a long list is not encoded to its end", async (t) => {
    const data = Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`k${index}`, "v"]));
    for (const name of ["a", "b", "c", "d"]) {
      const body = { metadata: { name }, data };
      const headers = { "content-type": "application/json" };
      assert.equal((await transport.send({ method: "POST", path: collection, headers, body })).status, 201);
    }
    takeTurnForEachLook(t);
    const caller = new AbortController();
    const request = { method: "GET", path: collection, headers: { accept: "application/yaml" } };
    const answering = transport.send({ ...request, signal: caller.signal });
    await turn();
    caller.abort();
    assert.equal((await answering).status, 504);
    assert.equal((await transport.send(request)).status, 200);
  });
});
