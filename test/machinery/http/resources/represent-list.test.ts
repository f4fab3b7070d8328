import assert from "node:assert/strict";
import { it } from "node:test";
import { startTestServer } from "../../../test-server.ts";
import { InProcess } from "../../../server/in-process.ts";

it("a list of a few large objects is put together piece by piece, as one of many is: it may be too long for a string", async (context) => {
  const server = await startTestServer({ settings: { controllers: false } });
  context.after(() => server.stop());
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
