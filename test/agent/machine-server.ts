import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bootstrapGroup, permitNodeBootstrap } from "../../src/features/nodes/bootstrap/bootstrap-permissions.ts";
import { newBootstrapToken } from "../../src/features/nodes/bootstrap/bootstrap-token-secret.ts";
import { secretResource } from "../../src/features/core/resources.ts";
import { systemClock } from "../../src/machinery/api/clock.ts";
import type { Clock } from "../../src/machinery/api/clock.ts";
import { platformNames as names } from "../../src/machinery/api/names.ts";
import type { ApiClient } from "../../src/machinery/client/api-client.ts";
import { startTemporaryServer } from "../test-server.ts";
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

type Settings = Readonly<Record<string, unknown>>;

/** A server that machines can join, and what they need for it. */
export interface MachineServer {
  readonly url: string;
  readonly admin: ApiClient;
  readonly caFile: string;
  readonly bootstrapToken: string;
  /** Starts a new server on the same data, on a new port. */
  restart(settings: Settings): Promise<void>;
  stop(): Promise<void>;
}

/** A server in this process that approves the requests of machines. Only a server with "lmdb" can restart. */
export async function startMachineServer({
  settings = {},
  storage = "memory",
  clock = systemClock,
}: {
  readonly settings?: Settings;
  readonly storage?: "memory" | "lmdb";
  readonly clock?: Clock;
} = {}): Promise<MachineServer> {
  const folder = mkdtempSync(join(tmpdir(), "signet-machines-"));
  const inFolder = (name: string, text: string): string => {
    const file = join(folder, name);
    writeFileSync(file, text);
    return file;
  };
  const own = {
    "approval-policy": inFolder("policy.yaml", policy),
    "signer-config": inFolder("signers.yaml", signers),
  };
  const start = (more: Settings): Promise<TestServer> =>
    startTemporaryServer({ storage, clock, dataDirectory: join(folder, "data"), settings: { ...own, ...more } });
  let server = await start(settings);
  await permitNodeBootstrap({ client: server.client, names });
  const { token, secret } = newBootstrapToken(names, {
    groups: [bootstrapGroup],
    expiresAt: undefined,
    description: "machines",
    nodeNames: undefined,
  });
  await server.client.resource(secretResource(names), names.namespaces.system).create(secret);
  return {
    get url() {
      return server.url;
    },
    get admin() {
      return server.client;
    },
    caFile: inFolder("ca.crt", server.caCertificates),
    bootstrapToken: token,
    async restart(more) {
      await server.stop();
      server = await start(more);
    },
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true });
    },
  };
}
