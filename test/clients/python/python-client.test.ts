import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { startTestServer } from "../../test-server.ts";

const isInstalled = spawnSync("python3", ["-c", "import kubernetes.dynamic"]).status === 0;
const certificateRequest = join(import.meta.dirname, "../../conformance/fixtures/cert-csr-p384.pem");

describe(
  "the official Python client",
  { skip: isInstalled ? false : "Python's package `kubernetes` is not installed" },
  () => {
    it("changes, watches, applies, reviews tokens and has certificates signed", async () => {
      const server = await startTestServer();
      try {
        const args = [join(import.meta.dirname, "client.py"), server.kubeconfigFile, certificateRequest];
        const { stdout } = await promisify(execFile)("python3", args, { timeout: 60_000 });
        assert.match(stdout, /^ok: everything$/m);
      } finally {
        await server.stop();
      }
    });
  },
);
