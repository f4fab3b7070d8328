import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { generateTokenSigningKeyPem } from "../../../src/features/accounts/tokens/token-key.ts";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { encodePem } from "../../../src/pki/pem.ts";
import { parseServerConfig } from "../../../src/server/settings/server-config.ts";
import { startServer } from "../../../src/server/start-server.ts";
import type { RunningServer } from "../../../src/server/start-server.ts";
import { newAuthority, startOf2026 } from "../../features/access/certificate-scene.ts";
import { sendInProcess } from "../in-process.ts";
import type { SentRequest } from "../in-process.ts";

/** The CAs of the clients and of the front proxies that the servers trust. */
export const clients = newAuthority("clients");
export const proxies = newAuthority("proxies");

export const pemOf = ({ certificate }: typeof clients): string => encodePem("CERTIFICATE", certificate.der);

export const whoami = "/apis/authentication.platform.io/v1/selfsubjectreviews";
const review = { apiVersion: "authentication.platform.io/v1", kind: "SelfSubjectReview" };

/** What servers answer a caller who asks who it is: 201 where its credential is good, 401 where it is refused. */
export async function codesOf(servers: readonly RunningServer[], sent: SentRequest): Promise<readonly number[]> {
  const answers = servers.map((server) => sendInProcess(server, whoami, { ...sent, method: "POST", body: review }));
  return (await Promise.all(answers)).map(({ status }) => status);
}

/** A write at one server must take effect at the other from the next request on. Their clock stands still. */
export interface TwoServers {
  readonly servers: readonly [RunningServer, RunningServer];
  /** Starts another server on the same store. */
  start(name: string): Promise<RunningServer>;
  /** Stops all servers that were started. */
  stop(): Promise<void>;
}

interface TwoServersOptions {
  /** Lines of the file of static tokens, beside that of the administrator. */
  readonly moreTokens?: string;
  /** Settings by the names of their flags. It may write files into the folder. */
  readonly moreSettings?: (folder: string) => Readonly<Record<string, string>>;
}

/** Two servers on one store. */
export async function startTwoServers({
  moreTokens = "",
  moreSettings = () => ({}),
}: TwoServersOptions = {}): Promise<TwoServers> {
  const folder = mkdtempSync(join(tmpdir(), "signet-two-servers-"));
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const settings = {
    "client-ca-file": file("clients.crt", pemOf(clients)),
    "requestheader-client-ca-file": file("proxies.crt", pemOf(proxies)),
    "token-auth-file": file("tokens.csv", `admin,admin,1,"system:masters"\n${moreTokens}`),
    "service-account-signing-key-file": file("tokens.key", generateTokenSigningKeyPem("ES256")),
    ...moreSettings(folder),
    "secure-port": "0",
    controllers: "false",
  };
  const store = new MemoryStore();
  const started: RunningServer[] = [];
  const start = async (name: string): Promise<RunningServer> => {
    const config = parseServerConfig({ commandLine: { ...settings, "data-dir": join(folder, name) }, file: {} });
    const server = await startServer(config, {
      log: pino({ level: "silent" }),
      store,
      clock: { now: () => startOf2026 },
      loops: "when told",
    });
    started.push(server);
    return server;
  };
  return {
    servers: [await start("first"), await start("second")],
    start,
    async stop() {
      // Each of them closes the store.
      for (const server of started.toReversed()) await server.stop();
      rmSync(folder, { recursive: true });
    },
  };
}
