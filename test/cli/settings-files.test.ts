import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

const main = join(import.meta.dirname, "../../src/main.js");

describe("a flag of the server that names a file", () => {
  let folder = "";
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "signet-settings-"));
    assert.equal(spawnSync("mkfifo", [join(folder, "pipe")]).status, 0);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

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
    it(`refuses pipes and devices, which would block or never end: --${flag}`, () => {
      for (const file of [join(folder, "pipe"), "/dev/zero"]) {
        const other = { "tls-cert-file": "tls-private-key-file", "tls-private-key-file": "tls-cert-file" }[flag];
        const words = [`--${flag}`, file, ...(other === undefined ? [] : [`--${other}`, file])];
        const serve = ["serve", "--data-dir", join(folder, "data"), "--secure-port=0", ...words];
        const { status, stderr } = spawnSync(process.execPath, [main, ...serve], {
          encoding: "utf8",
          timeout: 600_000,
        });
        assert.equal(status, 2, stderr);
        assert.match(
          stderr,
          /^signet: --[a-z-]+: \S+ is not a regular file; it may be read again later, so write it to a file and name that\n$/,
        );
      }
    });
  }

  it("refuses a folder, and says to name a file in its place", () => {
    for (const flag of ["config", "token-auth-file", "authorization-config"]) {
      const serve = ["serve", "--data-dir", join(folder, "data"), "--secure-port=0", `--${flag}`, folder];
      const { status, stderr } = spawnSync(process.execPath, [main, ...serve], { encoding: "utf8", timeout: 600_000 });
      assert.deepEqual([status, stderr], [2, `signet: --${flag}: ${folder} is a folder; name a file\n`]);
    }
  });
});

describe("a flag of the agent that names a file", () => {
  it("refuses pipes, which would block", () => {
    const folder = mkdtempSync(join(tmpdir(), "signet-settings-"));
    const pipe = join(folder, "pipe");
    assert.equal(spawnSync("mkfifo", [pipe]).status, 0);
    for (const words of [
      ["--ca-file", pipe],
      ["--client-certificate", pipe, "--client-key", pipe],
      ["--config", pipe],
    ]) {
      const command = [main, "agent", "--server", "https://127.0.0.1:1", "--data-dir", join(folder, "data"), ...words];
      const { status, stderr } = spawnSync(process.execPath, command, { encoding: "utf8", timeout: 600_000 });
      assert.equal(status, 2, stderr);
      assert.match(stderr, /^signet: --[a-z-]+: \S+ is not a regular file; /);
    }
    rmSync(folder, { recursive: true, force: true });
  });
});
