import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { HostedSignet } from "./hosted-signet.ts";

let folder = "";
let pipe = "";
let signet: HostedSignet;
before(() => {
  folder = mkdtempSync(join(tmpdir(), "signet-settings-"));
  pipe = join(folder, "pipe");
  assert.equal(spawnSync("mkfifo", [pipe]).status, 0);
  signet = new HostedSignet();
});
after(() => {
  signet.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe("a flag of the server that names a file", () => {
  const serve = (...words: readonly string[]) =>
    signet.run(["serve", "--data-dir", join(folder, "data"), "--secure-port=0", ...words]);

  for (const flag of [
    "config",
    "tls-private-key-file",
    "tls-cert-file",
    "client-ca-file",
    "requestheader-client-ca-file",
    "token-auth-file",
    "service-account-key-file",
    "approval-policy",
  ]) {
    it(`refuses pipes and devices, which would block or never end: --${flag}`, async () => {
      for (const file of [pipe, "/dev/zero"]) {
        const other = { "tls-cert-file": "tls-private-key-file", "tls-private-key-file": "tls-cert-file" }[flag];
        const words = [`--${flag}`, file, ...(other === undefined ? [] : [`--${other}`, file])];
        const { code, stderr } = await serve(...words);
        assert.equal(code, 2, stderr);
        assert.match(
          stderr,
          /^signet: --[a-z-]+: .+ is not a regular file; it may be read again later, so write it to a file and name that\n$/,
        );
      }
    });
  }

  it("refuses a socket, and says to name a file in its place", async (context) => {
    const socket = join(folder, "socket");
    const listening = createServer().listen(socket);
    context.after(() => listening.close());
    await once(listening, "listening");
    const { code, stderr } = await serve("--token-auth-file", socket);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /^signet: --token-auth-file: cannot read \S+: it is a socket, .+, or name a file\n$/);
  });

  it("says of a pipe for the audit log that nothing reads it", async () => {
    const { code, stderr } = await serve("--audit-log-path", pipe);
    assert.equal(code, 2, stderr);
    assert.match(
      stderr,
      /^signet: --audit-log-path: cannot write .+ or a pipe that nothing reads; start its reader, or name a file\n$/,
    );
  });

  it("refuses a file of a length that its file system does not tell, which would be read as empty", async (context) => {
    if (process.platform !== "linux") return context.skip("there is no /proc");
    const { code, stderr } = await serve("--token-auth-file", "/proc/self/status");
    assert.equal(code, 2, stderr);
    assert.match(stderr, /^signet: --token-auth-file: \S+ is longer than its file system says; write .+ name that\n$/);
  });

  it("refuses a folder, and says to name a file in its place", async () => {
    for (const flag of ["config", "token-auth-file", "authorization-config"]) {
      const { code, stderr } = await serve(`--${flag}`, folder);
      assert.deepEqual([code, stderr], [2, `signet: --${flag}: ${folder} is a folder; name a file\n`]);
    }
  });
});

describe("a flag of the agent that names a file", () => {
  it("refuses pipes, which would block", async () => {
    for (const words of [
      ["--ca-file", pipe],
      ["--client-certificate", pipe, "--client-key", pipe],
      ["--config", pipe],
    ]) {
      const agent = ["agent", "--server", "https://127.0.0.1:1", "--data-dir", join(folder, "data")];
      const { code, stderr } = await signet.run([...agent, ...words]);
      assert.equal(code, 2, stderr);
      assert.match(stderr, /^signet: --[a-z-]+: .+ is not a regular file; /);
    }
  });
});
