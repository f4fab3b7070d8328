import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, it } from "node:test";
import {
  ApiClient,
  ApiError,
  connect,
  httpsTransport,
  namespaceResource,
  parseKubeconfig,
  platformNames,
} from "../../src/library/client.ts";
import { startServer } from "../../src/library/testing.ts";

const namespaces = namespaceResource(platformNames);

describe("startServer of signet/testing", () => {
  it("starts servers that share nothing, with three ways for the administrator to connect", async () => {
    await using server = await startServer();
    await using other = await startServer();
    await server.client.resource(namespaces).create({ metadata: { name: "factory" }, spec: {} });

    const { transport } = parseKubeconfig(server.kubeconfig, { path: "the server's" });
    assert.equal(transport.server, server.url);
    assert.equal(transport.caCertificates, server.caCertificates);
    for (const client of [connect({ file: server.kubeconfigFile }), new ApiClient(httpsTransport(transport))]) {
      assert.equal((await client.resource(namespaces).get("factory")).metadata.name, "factory");
      client.close();
    }
    assert.notEqual(other.url, server.url);
    assert.equal(await other.client.resource(namespaces).find("factory"), undefined);
  });

  it("takes the settings of signet serve, and the names of a profile", async () => {
    await using server = await startServer({
      profile: "kubernetes",
      settings: { "service-account-issuer": "https://identity.example.com" },
    });
    const document = await server.client.request<{ issuer: string }>("/.well-known/openid-configuration");
    assert.equal(document.issuer, "https://identity.example.com");
    await server.client.request("/apis/certificates.k8s.io/v1");
  });

  it("leaves nothing behind after it has stopped or failed to start", async () => {
    const server = await startServer();
    await server.stop();
    assert.equal(existsSync(dirname(server.kubeconfigFile)), false);
    await assert.rejects(startServer({ settings: { "secure-portt": 1 } }), {
      name: "UsageError",
      message: /secure-portt/,
    });
  });

  it("answers a forbidden request with the error that every client sees", async () => {
    await using server = await startServer();
    const { clientCertificate: _, ...anonymous } = parseKubeconfig(server.kubeconfig, { path: "" }).transport;
    const client = new ApiClient(httpsTransport(anonymous));
    await assert.rejects(
      client.resource(namespaces).list(),
      (error) => error instanceof ApiError && error.code === 403,
    );
    client.close();
  });

  it("names the required Node.js on an older one", () => {
    const older = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "22.1.0" } });
      Object.defineProperty(process, "version", { value: "v22.1.0" });`;
    const file = pathToFileURL(join(import.meta.dirname, "../../src/library/testing.ts"));
    const { stdout } = spawnSync(
      process.execPath,
      [
        "--input-type=module",
        "--eval",
        `${older} const { startServer } = await import("${file.href}");
        startServer().catch((error) => console.log(error.message));`,
      ],
      { encoding: "utf8" },
    );
    assert.match(
      stdout,
      /^signet\/testing runs the server in this process and needs Node\.js 26 or later, and this is v22\.1\.0: /,
    );
  });
});
