import assert from "node:assert/strict";
import { it } from "node:test";
import { startTestServer } from "../../../test-server.ts";
import { InProcess } from "../../../server/in-process.ts";
import { writeYaml } from "../../../../src/machinery/http/yaml/write-yaml.ts";
import { turnsDuring } from "../../../turns-during.ts";

it("a list of a few large objects is encoded in parts, because it may be too long for a string", async () => {
  const server = await startTestServer({ settings: { controllers: false } });
  const api = new InProcess(server);
  const collection = "/api/v1/namespaces/default/configmaps";
  for (const name of ["a", "b", "c"]) {
    const body = { metadata: { name }, data: { text: `${name}\u{1f600}é"\\`.repeat(100_000) } };
    await api.json(collection, { method: "POST", body });
  }
  const { body } = await api.send(collection);
  assert.ok(Buffer.isBuffer(body));
  const { items } = JSON.parse(body.toString()) as { items: { metadata: { name: string }; data: { text: string } }[] };
  assert.deepEqual(
    items.map(({ metadata, data }) => [metadata.name, data.text.length]),
    ["a", "b", "c"].map((name) => [name, 600_000]),
  );
  assert.ok(typeof (await api.send(`${collection}?limit=1`)).body === "string");
});

it("a list that is encoded in parts is the same YAML as one that is encoded at once", async () => {
  // The ages in a table stay the same from one answer to the next.
  const now = Date.now();
  const server = await startTestServer({ settings: { controllers: false }, clock: { now: () => now } });
  const api = new InProcess(server);
  const collection = "/api/v1/namespaces/default/configmaps";
  const listAs = async (accept: string): Promise<string> => {
    const { status, headers, body } = await api.send(collection, { headers: { accept } });
    assert.deepEqual([status, headers["content-type"]], [200, accept.split(";")[0]]);
    return String(body);
  };
  for (const count of [0, 1, 3]) {
    if (count > 0) {
      const body = {
        metadata: { name: `c${count}`, labels: { yes: "no" } },
        data: { text: "a\nb\n", empty: "", more: "- x" },
      };
      await api.json(collection, { method: "POST", body });
    }
    for (const form of ["", ";as=Table;v=v1;g=meta.k8s.io", ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"]) {
      const json: unknown = JSON.parse(await listAs(`application/json${form}`));
      assert.equal(await listAs(`application/yaml${form}`), writeYaml(json));
    }
  }
});

it("other requests are answered while a long list is written as YAML", async () => {
  const server = await startTestServer({ settings: { controllers: false } });
  const api = new InProcess(server);
  const collection = "/api/v1/namespaces/default/configmaps";
  const keys = Array.from({ length: 2000 }, (_, index) => [`k${index}`, "v"]);
  for (const name of ["a", "b", "c"]) {
    await api.json(collection, { method: "POST", body: { metadata: { name }, data: Object.fromEntries(keys) } });
  }
  const turns = await turnsDuring(async () => {
    const { status } = await api.send(collection, { headers: { accept: "application/yaml" } });
    assert.equal(status, 200);
  });
  assert.ok(turns >= 2, String(turns));
});

it("other requests are answered while a page of small objects is written in another form", async (context) => {
  const server = await startTestServer({ settings: { controllers: false } });
  const api = new InProcess(server);
  const collection = "/api/v1/namespaces/default/configmaps";
  const count = 60;
  for (let index = 0; index < count; index += 1) {
    await api.json(collection, { method: "POST", body: { metadata: { name: `c${index}` } } });
  }
  let milliseconds = 0;
  context.mock.method(performance, "now", () => (milliseconds += 10)); // each object takes as long as a turn
  const turnsAs = (accept: string): Promise<number> =>
    turnsDuring(async () => assert.equal((await api.send(collection, { headers: { accept } })).status, 200));
  for (const accept of ["application/vnd.kubernetes.protobuf", "application/json;as=Table;v=v1;g=meta.k8s.io"]) {
    const turns = await turnsAs(accept);
    assert.ok(turns >= count, `${accept}: ${turns}`);
  }
  const turns = await turnsAs("application/json");
  assert.ok(turns < count, `texts: ${turns}`);
});
