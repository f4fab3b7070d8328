import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import type { Logger } from "pino";
import type { AdmissionRule } from "../src/machinery/api/attributes.ts";
import type { Clock } from "../src/machinery/api/clock.ts";
import type { Profile } from "../src/machinery/api/names.ts";
import { parseServerConfig } from "../src/server/settings/server-config.ts";
import { startServer } from "../src/server/start-server.ts";
import type { RunningServer } from "../src/server/start-server.ts";
import type { Store } from "../src/machinery/storage/store.ts";
import { MemoryStore } from "../src/machinery/storage/backends/memory.ts";
import { afterWhatRuns } from "./after-what-runs.ts";

export interface TestServer extends RunningServer {
  /** A token of a member of system:masters. */
  readonly adminToken: string;
  readonly dataDirectory: string;
}

export interface TestServerOptions {
  readonly profile?: Profile;
  /** More settings of `signet serve`, by the names of its flags. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Runs for every write, in addition to the server's own rules. */
  readonly admission?: readonly AdmissionRule[];
  /** Default: in memory. */
  readonly storage?: "memory" | "lmdb";
  /** A data directory of the test itself, which `stop` does not remove. */
  readonly dataDirectory?: string;
  /** Default: nothing is logged. */
  readonly log?: Logger;
  readonly clock?: Clock;
  /** Replaces the storage. The server closes it. */
  readonly store?: Store;
  /** Static tokens instead of the administrator's. */
  readonly tokenFile?: string;
}

/**
 * A server of a test, which stops at the end of what starts it: of the test or suite (also from its `before`), or of the
 * file. It stops also when that fails; a server that went on would keep the file from ending.
 */
export async function startTestServer(options?: TestServerOptions): Promise<TestServer> {
  const server = await startTemporaryServer(options);
  afterWhatRuns(() => server.stop());
  return server;
}

/** A complete server in this process, with its own port and folder. The first `stop` removes the folder. */
export async function startTemporaryServer({
  profile = "platform",
  settings = {},
  admission = [],
  storage = "memory",
  dataDirectory: givenDirectory,
  tokenFile: givenTokenFile,
  clock,
  store,
  log = pino({ level: process.env["SIGNET_TEST_LOG"] ?? "silent" }),
}: TestServerOptions = {}): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), "signet-test-"));
  const dataDirectory = givenDirectory ?? join(folder, "data");
  const ownTokenFile = join(folder, "tokens.csv");
  const tokenFile = givenTokenFile ?? ownTokenFile;
  const adminToken = "test-administrator";
  writeFileSync(ownTokenFile, `${adminToken},admin,admin-uid,"system:masters"\n`, { mode: 0o600 });
  const config = parseServerConfig({
    commandLine: { "data-dir": dataDirectory, "secure-port": "0", profile, "token-auth-file": tokenFile },
    file: settings,
  });
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  const server = await startServer(config, {
    log,
    admission,
    ...(clock !== undefined && { clock }),
    ...(store !== undefined && { store }),
    ...(store === undefined && storage === "memory" && { store: new MemoryStore() }),
  }).catch((error: unknown) => {
    removeFolder();
    throw error;
  });
  let stopped: Promise<void> | undefined;
  const stop = async (stopOptions: Parameters<RunningServer["stop"]>[0]): Promise<void> => {
    await server.stop(stopOptions);
    removeFolder();
  };
  return {
    ...server,
    adminToken,
    dataDirectory,
    stop: (stopOptions) => (stopped ??= stop(stopOptions)),
  };
}
