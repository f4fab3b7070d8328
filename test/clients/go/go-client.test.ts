import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { startTestServer } from "../../test-server.ts";

/** Builds from what is on this machine; tests ask no network. */
const environment = { ...process.env, GOPROXY: "off", GOFLAGS: "-mod=readonly", GOTOOLCHAIN: "local" };
const run = promisify(execFile);

describe("client-go", { skip: reasonToSkip() }, () => {
  it("works with the typed clientset over protobuf, informers, the dynamic client and leader election", async () => {
    const folder = mkdtempSync(join(tmpdir(), "signet-client-go-"));
    const server = await startTestServer();
    try {
      const program = join(folder, "client");
      await run("go", ["build", "-o", program, "."], { cwd: import.meta.dirname, env: environment });
      const { stdout } = await run(program, [server.kubeconfigFile], { timeout: 90_000 });
      assert.match(stdout, /^ok: everything$/m);
    } finally {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

function reasonToSkip(): string | false {
  if (spawnSync("go", ["version"]).status !== 0) return "Go is not installed";
  const listed = spawnSync("go", ["list", "-deps", "."], { cwd: import.meta.dirname, env: environment });
  return listed.status === 0 ? false : "client-go's modules are not on this machine";
}
