import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { TestContext } from "node:test";
import type { AgentSettings } from "../../src/agent/agent-settings.ts";
import { checkAgent } from "../../src/agent/check-agent.ts";
import { startAgent } from "../../src/agent/start-agent.ts";
import { eventually } from "../end-to-end/eventually.ts";
import { startTestServer } from "../test-server.ts";
import type { TestServer } from "../test-server.ts";
import { settingsOf } from "./settings-of.ts";

describe("the check of an agent's settings", () => {
  let server: TestServer;
  const folder = mkdtempSync(join(tmpdir(), "signet-check-"));
  before(async () => {
    server = await startTestServer();
  });
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  const settings = (changed: Partial<AgentSettings> = {}): AgentSettings =>
    settingsOf({
      servers: [server.url],
      caCertificates: () => server.caCertificates,
      caSource: "--ca-file",
      bootstrap: { type: "token", source: "a test", token: () => server.adminToken },
      dataDirectory: join(folder, "data"),
      ...changed,
    });

  const check = async (changed: Partial<AgentSettings> = {}): Promise<readonly string[]> => {
    const lines: string[] = [];
    const isInOrder = await checkAgent(settings(changed), { print: (line) => lines.push(line), version: "test" });
    assert.equal(
      isInOrder,
      lines.every((line) => !line.startsWith("FAULT")),
    );
    return lines.filter((line) => !line.startsWith("ok "));
  };

  it("finds no fault with what will work", async () => {
    assert.deepEqual(await check(), []);
  });

  it("says to give the server's CA where none is given", async () => {
    const without = { caCertificates: () => undefined, caSource: undefined };
    const [line = "", ...others] = await check(without);
    assert.deepEqual(others, []);
    assert.match(
      line,
      /^FAULT {2}the server \S+: its certificate is from a CA that .*; give the server's CA with --ca-file/,
    );
  });

  it("says of a server that is away what to do", async () => {
    const [line = ""] = await check({ servers: ["https://127.0.0.1:1"] });
    assert.match(
      line,
      /^FAULT {2}the server https:\/\/127.0.0.1:1: nothing listens there; start it with signet serve, or/,
    );
  });
});

describe("the log of an agent", () => {
  it("names the server that is away, and says what to do", async (context: TestContext) => {
    const folder = mkdtempSync(join(tmpdir(), "signet-check-"));
    const messages: string[] = [];
    const write = (_fields: unknown, message: string): void => void messages.push(message);
    const agent = await startAgent(
      settingsOf({
        servers: ["https://127.0.0.1:1"],
        caCertificates: () => undefined,
        bootstrap: { type: "token", source: "a test", token: () => "a" },
        dataDirectory: folder,
      }),
      { log: { info: write, warn: write, error: write }, version: "test" },
    );
    context.after(async () => {
      await agent.stop();
      rmSync(folder, { recursive: true });
    });
    const line = await eventually("a failure", () => messages.find((message) => message.startsWith("not connected")));
    assert.match(line, /: cannot reach the server https:\/\/127.0.0.1:1: nothing listens there; start it with signet/);
  });
});
