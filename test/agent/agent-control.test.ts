import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { openControlSocket, readAgentStatus, renewThroughAgent } from "../../src/agent/agent-control.ts";
import type { RunningAgent } from "../../src/agent/start-agent.ts";
import { socketFolder } from "../socket-folder.ts";
import { logTo } from "./log-to.ts";

const log = logTo(() => {});

test("only the agent's user can connect to its control socket, whatever the umask and the folder's mode are", async (context) => {
  const directory = socketFolder();
  chmodSync(directory, 0o755);
  const umask = process.umask(0);
  context.after(() => process.umask(umask));
  const control = await openControlSocket(directory, { agent: () => undefined, log });
  context.after(async () => {
    await control.close();
    rmSync(directory, { recursive: true });
  });
  assert.equal((statSync(join(directory, "agent.sock")).mode & 0o777).toString(8), "600");
  assert.equal(process.umask(), 0, "other files are as they were");
});

test("an agent runs without its control socket when a folder is in its place, and says so", async (context) => {
  const directory = socketFolder();
  context.after(() => rmSync(directory, { recursive: true }));
  mkdirSync(join(directory, "agent.sock"));
  const warnings: string[] = [];
  const control = await openControlSocket(directory, {
    agent: () => undefined,
    log: { ...log, warn: (_, message) => warnings.push(message) },
  });
  await control.close();
  assert.match(warnings.join(), /^signet agent status and renew are not available: .*directory/);
});

test("the agent, and commands for it, say that the data directory's name is too long for a socket", async (context) => {
  const directory = socketFolder();
  context.after(() => rmSync(directory, { recursive: true }));
  const long = join(directory, "x".repeat(100));
  mkdirSync(long);
  const warnings: string[] = [];
  const control = await openControlSocket(long, {
    agent: () => undefined,
    log: { ...log, warn: (_, message) => warnings.push(message) },
  });
  await control.close();
  assert.match(warnings.join(), /not available: the path is too long for a socket; name a shorter data directory$/);
  const refusal = { name: "UnusableFile", message: /too long for a socket; name a shorter data directory$/ };
  await assert.rejects(readAgentStatus(long), refusal);
  await assert.rejects(renewThroughAgent(long, "client"), refusal);
});

test("commands for an agent say that its data directory is a file, or a link to itself", async (context) => {
  const directory = socketFolder();
  context.after(() => rmSync(directory, { recursive: true }));
  const [file, loop] = [join(directory, "file"), join(directory, "loop")];
  writeFileSync(file, "");
  symlinkSync("loop", loop);
  const refusal = (message: RegExp) => ({ name: "UnusableFile", message });
  await assert.rejects(readAgentStatus(file), refusal(/agent\.sock: a part of the path is a file, not a folder; name/));
  await assert.rejects(renewThroughAgent(loop, "client"), refusal(/agent\.sock: its symbolic links form a loop; name/));
});

test("the agent's control socket answers 404 to every target that is no command of it", async (context) => {
  const directory = socketFolder();
  const agent: RunningAgent = {
    port: 0,
    renewNow: () => assert.fail("nothing was asked for"),
    status: () => assert.fail("nothing was asked for"),
    broken: new Promise(() => {}),
    stop: async () => {},
  };
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

test("a command says what to do when what listens at the socket does not answer as an agent", async (context) => {
  const directory = socketFolder();
  const server = createServer((_request, response) => response.writeHead(408).end());
  server.listen(join(directory, "agent.sock"));
  await once(server, "listening");
  context.after(() => {
    server.close();
    rmSync(directory, { recursive: true });
  });
  const message = "the agent gives an answer that cannot be read; look at its log, or restart it";
  await assert.rejects(readAgentStatus(directory), { name: "UnusableFile", message });
});

test("a command says what to do when the answer is no status, is endless, or breaks off", async (context) => {
  const directory = socketFolder();
  const page = "x".repeat(2 ** 20);
  const send = (response: ServerResponse): void => void response.write(page, (fault) => fault ?? send(response));
  const answers: ((response: ServerResponse) => void)[] = [
    (response) => response.end('{"nodeName":"n1"}'),
    (response) => response.end('{"nodeName":"n1","certificates":[null]}'),
    (response) => response.socket?.end("SSH-2.0-agent\r\n"),
    send,
    (response) => {
      response.writeHead(200, { "content-length": 100 }).write("{");
      setImmediate(() => response.destroy());
    },
  ];
  let next = 0;
  const server = createServer((_request, response) => answers[next++]?.(response));
  server.listen(join(directory, "agent.sock"));
  await once(server, "listening");
  context.after(() => {
    server.close();
    rmSync(directory, { recursive: true });
  });
  for (const _ of answers) {
    await assert.rejects(readAgentStatus(directory), {
      name: "UnusableFile",
      message: /^the agent (?:gives an answer that cannot be read|does not answer to the end); look at its log, or/,
    });
  }
});

test("a command understands the status of an agent that has run since before an upgrade", async (context) => {
  const directory = socketFolder();
  const earlier = {
    nodeName: "n1",
    now: 0,
    certificates: [],
    trustBundles: [],
    hookFaults: [],
    hasPendingHooks: false,
  };
  const agent = { status: () => earlier } as unknown as RunningAgent; // without what came later
  const control = await openControlSocket(directory, { agent: () => agent, log });
  context.after(async () => {
    await control.close();
    rmSync(directory, { recursive: true });
  });
  assert.deepEqual((await readAgentStatus(directory)).outages, []);
});
