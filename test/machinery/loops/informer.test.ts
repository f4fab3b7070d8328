import assert from "node:assert/strict";
import { test } from "node:test";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { ApiClient } from "../../../src/machinery/client/api-client.ts";
import { httpsTransport } from "../../../src/machinery/client/https-transport.ts";
import { Informer } from "../../../src/machinery/loops/informer.ts";
import { eventually } from "../../end-to-end/eventually.ts";
import { startCuttableProxy } from "../../reliability/cuttable-proxy.ts";
import { resourceReferences } from "../../resource-references.ts";
import { startTestServer } from "../../test-server.ts";

const { configMaps } = resourceReferences(platformNames);

test("an informer notices a dead connection without an error, and continues over a new one", async (context) => {
  const server = await startTestServer({ settings: { controllers: false } });
  const proxy = await startCuttableProxy(Number(new URL(server.url).port));
  const client = new ApiClient(
    httpsTransport({
      server: `https://127.0.0.1:${proxy.port}`,
      caCertificates: server.caCertificates,
      bearerToken: () => server.adminToken,
      watchIdleMilliseconds: 300,
    }),
  );
  const stopping = new AbortController();
  context.after(async () => {
    stopping.abort();
    client.close();
    await proxy.close();
    await server.stop();
  });
  let failures = 0;
  const informer = new Informer(client.resource(configMaps, "default"), { onError: () => void failures++ });
  await informer.start(stopping.signal);
  await eventually("the watch", () => proxy.connections() > 0);
  proxy.silence();
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "news", namespace: "default" } };
  await server.client.resource(configMaps, "default").create(object);
  await eventually("the news", () => informer.get("default/news"));
  assert.ok(failures > 0);
});

test("a watch asks the server to end it after five to ten minutes", async () => {
  let query = "";
  const client = new ApiClient({
    send: async (request) => {
      query = request.query ?? "";
      return { status: 200, headers: {}, body: (async function* () {})() };
    },
    close() {},
  });
  for await (const _ of client.resource(configMaps).watch({}, new AbortController().signal)) assert.fail();
  const seconds = Number(new URLSearchParams(query).get("timeoutSeconds"));
  assert.ok(seconds >= 300 && seconds <= 600, query);
});
