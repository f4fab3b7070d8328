import assert from "node:assert/strict";
import { it } from "node:test";
import { InProcess } from "../../../server/in-process.ts";
import { startTestServer } from "../../../test-server.ts";
import { turnsDuring } from "../../../turns-during.ts";

it("other requests are answered while a review is written as YAML", async (context) => {
  const server = await startTestServer({ profile: "kubernetes", settings: { controllers: false } });
  const api = new InProcess(server);
  let milliseconds = performance.now();
  context.mock.method(performance, "now", () => (milliseconds += 10)); // each line takes as long as a turn
  let lines = 0;
  const turns = await turnsDuring(async () => {
    const { status, body } = await api.send("/apis/authentication.k8s.io/v1/selfsubjectreviews", {
      method: "POST",
      headers: { accept: "application/yaml" },
      body: {},
    });
    assert.equal(status, 201);
    lines = String(body).split("\n").length;
  });
  assert.ok(lines > 10 && turns >= lines - 1, `${turns} turns for ${lines} lines`);
});
