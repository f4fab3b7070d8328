import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { CertificateFolder, CertificateScene, newAuthority } from "../features/certificates/certificate-loop-scene.ts";
import { startTestServer } from "../test-server.ts";

const program = join(import.meta.dirname, "../../examples/custom-signer.ts");
const signerName = "example.com/lab";

describe("the custom signer of the documentation", () => {
  const folder = new CertificateFolder();
  after(() => folder.remove());

  it("signs approved requests with its own CA, and its certificates are in the inventory", async () => {
    const authority = newAuthority("lab");
    const server = await startTestServer();
    const files = [folder.write("ca.crt", authority.certificate), folder.writeKey("ca.key", authority)];
    const signer = spawn(
      process.execPath,
      ["--conditions=signet-source", program, server.kubeconfigFile, signerName, ...files],
      {
        stdio: ["ignore", "ignore", "inherit"],
      },
    );
    try {
      const scene = new CertificateScene(server.client);
      const issued = await scene.obtain({ name: "robot", signerName, commonName: "robot", expirationSeconds: 3600 });
      assert.match(folder.opensslVerify([authority.certificate], issued, "sslclient"), /leaf\.pem: OK/);
    } finally {
      signer.kill();
      await server.stop();
    }
  });
});
