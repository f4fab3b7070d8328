import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openControlSocket } from "../../src/agent/agent-control.ts";
import type { RunningAgent } from "../../src/agent/start-agent.ts";

test("the agent's control socket answers 404 to every target that is no command of it", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "signet-control-"));
  const agent: RunningAgent = {
    port: 0,
    renewNow: () => assert.fail("nothing was asked for"),
    status: () => assert.fail("nothing was asked for"),
    stop: async () => {},
  };
  const log = { info() {}, warn() {}, error() {} };
  const control = await openControlSocket(directory, { agent: () => agent, log });
  context.after(async () => {
    await control.close();
    rmSync(directory, { recursive: true });
  });
  for (const path of ["//", "http://[", "/", "/renew", "*"]) {
    const sent = request({ socketPath: join(directory, "agent.sock"), path, agent: false }).end();
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    answer.resume();
    assert.equal(answer.statusCode, 404, path);
  }
});
