import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bootstrapGroup, permitNodeBootstrap } from "../../src/features/nodes/bootstrap/bootstrap-permissions.ts";
import { newBootstrapToken } from "../../src/features/nodes/bootstrap/bootstrap-token-secret.ts";
import { secretResource } from "../../src/features/core/resources.ts";
import { platformNames as names } from "../../src/machinery/api/names.ts";
import { ApiClient } from "../../src/machinery/client/api-client.ts";
import { httpsTransport } from "../../src/machinery/client/https-transport.ts";
import { startTestServer } from "../test-server.ts";
import type { TestServer } from "../test-server.ts";

/** The signer of services' certificates. Every machine may have any name below services.example. */
export const servicesSigner = "example.com/services";

const signers = `apiVersion: signet.platform.io/v1
kind: SignerConfiguration
signers:
  - name: ${servicesSigner}
    certificateAuthority: { generate: { commonName: Services } }
    dnsNames: ["*.services.example"]
    maximumLifetime: 24h
`;

const policy = `rules:
  - name: node-serving
    match: { signers: [platform.io/nodeagent-serving], groups: ["system:nodes"] }
    action: approve
    require: { namesBelongToNode: true, ipRanges: [10.0.0.0/8, 127.0.0.0/8] }
  - name: services
    match: { signers: [${servicesSigner}], groups: ["system:nodes"] }
    action: approve
    require:
      commonNames: ["*.services.example"]
      dnsNames: ["*.services.example"]
      keys: [{ type: ECDSA, minimumBits: 256 }, { type: RSA, minimumBits: 2048 }]
`;

/** A server that machines can join, and what they need for it. */
export interface MachineServer {
  readonly url: string;
  readonly server: TestServer;
  readonly admin: ApiClient;
  readonly caFile: string;
  readonly bootstrapToken: string;
  stop(): Promise<void>;
}

/** A server in this process that approves what machines ask for. */
export async function startMachineServer(settings: Readonly<Record<string, unknown>> = {}): Promise<MachineServer> {
  const folder = mkdtempSync(join(tmpdir(), "signet-machines-"));
  const inFolder = (name: string, text: string): string => {
    const file = join(folder, name);
    writeFileSync(file, text);
    return file;
  };
  const server = await startTestServer({
    settings: {
      "approval-policy": inFolder("policy.yaml", policy),
      "signer-config": inFolder("signers.yaml", signers),
      ...settings,
    },
  });
  const caCertificates = server.caCertificates;
  const admin = new ApiClient(
    httpsTransport({ server: server.url, caCertificates, bearerToken: () => server.adminToken }),
  );
  await permitNodeBootstrap({ client: admin, names });
  const { token, secret } = newBootstrapToken(names, {
    groups: [bootstrapGroup],
    expiresAt: undefined,
    description: "machines",
    nodeNames: undefined,
  });
  await admin.resource(secretResource(names), names.namespaces.system).create(secret);
  return {
    url: server.url,
    server,
    admin,
    caFile: inFolder("ca.crt", caCertificates),
    bootstrapToken: token,
    async stop() {
      admin.close();
      await server.stop();
      rmSync(folder, { recursive: true });
    },
  };
}
