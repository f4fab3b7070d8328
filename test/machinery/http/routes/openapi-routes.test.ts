import assert from "node:assert/strict";
import { it } from "node:test";
import type { TestContext } from "node:test";
import { openApiRoutes } from "../../../../src/machinery/http/routes/openapi-routes.ts";
import { openApiV2 } from "../../../../src/machinery/schema/openapi/openapi.ts";
import { turnsDuring } from "../../../turns-during.ts";
import { sampleApi } from "../../schema/sample-api.ts";

const asksForProtobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/** How often others had their turn while a document was made. Each step of it takes as long as a turn. */
function turnsOf(context: TestContext, { path, accept }: { readonly path: string; readonly accept: string }) {
  let milliseconds = 0;
  context.mock.method(performance, "now", () => (milliseconds += 10));
  const route = openApiRoutes(sampleApi).get(path);
  const request = {
    method: "GET",
    path,
    query: "",
    headers: { accept },
    connection: { remoteAddress: "127.0.0.1", peerCertificates: [] },
    readBody: async () => Buffer.alloc(0),
    signal: new AbortController().signal,
  };
  return turnsDuring(async () => assert.equal((await route?.handle(request))?.status, 200));
}

it("other requests are answered while the documents of all groups are made for their hashes", async (context) => {
  const turns = await turnsOf(context, { path: "/openapi/v3", accept: "application/json" });
  assert.ok(turns >= 2, String(turns));
});

it("other requests are answered while the document of version 2 is made", async (context) => {
  const turns = await turnsOf(context, { path: "/openapi/v2", accept: "application/json" });
  assert.ok(turns >= 1, String(turns));
});

it("other requests are answered while the document of version 2 is written as protobuf", async (context) => {
  const { paths, definitions } = openApiV2(sampleApi);
  const turns = await turnsOf(context, { path: "/openapi/v2", accept: asksForProtobuf });
  assert.ok(turns >= Object.keys({ ...paths, ...definitions }).length, String(turns));
});
