import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { adminToken, startServerProcess } from "../../bench/processes/server-process.ts";
import type { ServerProcess } from "../../bench/processes/server-process.ts";
import { freePort } from "../../bench/processes/free-ports.ts";
import type { ApiClient } from "../../src/machinery/client/api-client.ts";
import { wellKnownSigners } from "../../src/features/certificates/signers/well-known-signers.ts";
import { clientOf } from "../reliability/client-of.ts";
import { startCuttableProxy } from "../reliability/soak/cuttable-proxy.ts";
import type { CuttableProxy } from "../reliability/soak/cuttable-proxy.ts";
import type { EtcdCluster } from "../machinery/storage/etcd/etcd-process.ts";

/** The files that replicas must share, from the data directory of the first. */
export const sharedFiles = [
  ...["ca", ...wellKnownSigners.map(({ shortName }) => `${shortName}-ca`)].flatMap((name) => [
    `${name}.crt`,
    `${name}.key`,
  ]),
  "service-account.key",
  "sealing.key",
];

export interface ReplicaOptions {
  readonly name: string;
  readonly folder: string;
  readonly etcd: EtcdCluster;
  /** The replica whose CA and keys it gets. */
  readonly sharesWith?: Replica;
}

/** One of several server processes on one etcd. It reaches etcd through its own proxies. */
export class Replica {
  readonly name: string;
  readonly dataDirectory: string;
  readonly #proxies: readonly CuttableProxy[];
  readonly #etcdPorts: readonly number[];
  readonly #port: number;
  #server: ServerProcess | undefined;
  #client: ApiClient | undefined;
  #life = new AbortController();

  private constructor(
    { name, folder }: ReplicaOptions,
    { proxies, etcdPorts, port }: { proxies: readonly CuttableProxy[]; etcdPorts: readonly number[]; port: number },
  ) {
    this.name = name;
    this.dataDirectory = join(folder, name, "data");
    this.#proxies = proxies;
    this.#etcdPorts = etcdPorts;
    this.#port = port;
  }

  static async start(options: ReplicaOptions): Promise<Replica> {
    const etcdPorts = options.etcd.urls.map((url) => Number(new URL(url).port));
    const proxies = await Promise.all(etcdPorts.map((port) => startCuttableProxy(port)));
    const port = await freePort();
    const replica = new Replica(options, { proxies, etcdPorts, port });
    mkdirSync(replica.dataDirectory, { recursive: true, mode: 0o700 });
    const { sharesWith } = options;
    for (const file of sharesWith === undefined ? [] : sharedFiles) {
      copyFileSync(join(sharesWith?.dataDirectory ?? "", file), join(replica.dataDirectory, file));
    }
    await replica.restart();
    return replica;
  }

  get isUp(): boolean {
    return this.#server !== undefined;
  }

  /** Its URL, also after a restart. */
  get address(): Pick<ServerProcess, "url" | "caCertificates"> {
    return {
      url: `https://127.0.0.1:${this.#port}`,
      caCertificates: readFileSync(join(this.dataDirectory, "ca.crt")),
    };
  }

  get client(): ApiClient {
    if (this.#client === undefined) throw new Error(`${this.name} is down`);
    return this.#client;
  }

  /** Aborts when the process is killed or stopped. */
  get signal(): AbortSignal {
    return this.#life.signal;
  }

  /** Resolves when it is ready. */
  async restart(): Promise<void> {
    const servers = this.#proxies.map(({ port }) => `http://127.0.0.1:${port}`).join(",");
    const flags = ["--etcd-servers", servers, "--secure-port", String(this.#port), "--log-level", "silent"];
    this.#life = new AbortController();
    this.#server = await startServerProcess(this.dataDirectory, { flags });
    this.#client = clientOf(this.#server);
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    const server = this.#down();
    await server?.kill();
  }

  async stop(): Promise<void> {
    const server = this.#down();
    await server?.stop();
    await Promise.all(this.#proxies.map((proxy) => proxy.close()));
  }

  /** Cuts it off from etcd. */
  cutOff(): void {
    for (const proxy of this.#proxies) proxy.detach();
  }

  reconnect(): void {
    for (const [index, proxy] of this.#proxies.entries()) proxy.target(this.#etcdPorts[index] ?? 0);
  }

  /** What `/readyz` says now; false when it does not answer within 3 s. */
  isReady(): Promise<boolean> {
    const server = this.#server;
    if (server === undefined) return Promise.resolve(false);
    return new Promise((resolve) => {
      const asking = request(
        `${server.url}/readyz`,
        { ca: server.caCertificates, headers: { authorization: `Bearer ${adminToken}` }, timeout: 3_000 },
        (response) => {
          response.resume();
          resolve(response.statusCode === 200);
        },
      );
      asking.on("timeout", () => asking.destroy());
      asking.on("error", () => resolve(false));
      asking.end();
    });
  }

  #down(): ServerProcess | undefined {
    const server = this.#server;
    this.#server = undefined;
    this.#life.abort();
    this.#client?.close();
    this.#client = undefined;
    return server;
  }
}
