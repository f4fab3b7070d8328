import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { GrpcChannel } from "../../../../src/machinery/grpc/grpc-channel.ts";
import type { TlsFiles } from "../../../../src/machinery/grpc/connect-socket.ts";
import { endsWithParent } from "../../../../bench/processes/ends-with-parent.ts";
import { freePorts } from "../../../../bench/processes/free-ports.ts";
import { issueTestCertificates } from "./etcd-certificates.ts";

/** No etcd outlives an aborted test (see endsWithParent). On systems without this, the exit of the process ends it. */
const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** For `describe` and `it`: false, or why etcd's tests are skipped. */
export const skipsEtcd: string | false =
  spawnSync("etcd", ["--version"]).error !== undefined && "etcd is not installed (Debian: etcd-server)";

export interface EtcdOptions {
  /** How many members; default 1. */
  readonly size?: number;
  /** Clients and members show certificates; both must. */
  readonly isTls?: boolean;
  /** Default 10, for a single member that is ready at once; clusters want their default of 100. */
  readonly heartbeatMilliseconds?: number;
  /** More flags, or others than the default ones. */
  readonly flags?: Readonly<Record<string, string | number>>;
}

export interface EtcdMember {
  readonly url: string;
  readonly name: string;
  /** Its data. */
  readonly folder: string;
  /** For the running process. */
  process(): ChildProcess;
  /** What it and its earlier processes printed. */
  output(): string;
  /** Stops the running process, as a machine that hangs. Returns when it runs no more: signals take effect later. */
  pause(): Promise<void>;
  resume(): void;
  /** Resolves when the process is gone. */
  kill(): Promise<void>;
  /** Starts it again on its data. */
  restart(): void;
}

export interface EtcdCluster {
  readonly members: readonly EtcdMember[];
  readonly urls: readonly string[];
  readonly tls: TlsFiles;
  /** Files of the client's certificates, for command line flags. */
  readonly tlsFlags: readonly string[];
  stop(): Promise<void>;
}

/** Starts etcd on loopback ports, with its data in a new folder, and resolves when every member answers. */
export async function startEtcd({
  size = 1,
  isTls = false,
  heartbeatMilliseconds = size === 1 ? 10 : 100,
  flags: ownFlags = {},
}: EtcdOptions = {}): Promise<EtcdCluster> {
  const folder = mkdtempSync(join(tmpdir(), "signet-etcd-"));
  const ports = await freePorts(size * 2);
  const scheme = isTls ? "https" : "http";
  const peerUrl = (index: number): string => `http://127.0.0.1:${ports[size + index]}`;
  const initialCluster = Array.from({ length: size }, (_, index) => `m${index}=${peerUrl(index)}`).join(",");
  const certificates = isTls ? issueTestCertificates() : undefined;
  const file = (name: string): string => join(folder, name);
  const logFile = (index: number): string => file(`m${index}.log`);
  for (const [name, pem] of Object.entries(certificates ?? {})) writeFileSync(file(name), pem, { mode: 0o600 });

  const members = Array.from({ length: size }, (_, index): EtcdMember => {
    const url = `${scheme}://127.0.0.1:${ports[index]}`;
    const start = (): ChildProcess => {
      const flags = flagsOf({
        name: `m${index}`,
        "data-dir": file(`m${index}`),
        "initial-cluster": initialCluster,
        "listen-client-urls": url,
        "advertise-client-urls": url,
        "listen-peer-urls": peerUrl(index),
        "initial-advertise-peer-urls": peerUrl(index),
        "heartbeat-interval": heartbeatMilliseconds,
        "election-timeout": heartbeatMilliseconds * 10,
        // A request body may be 3 MiB: etcd's own bound of 1.5 MiB is below that.
        "max-request-bytes": 8 * 2 ** 20,
        logger: "zap",
        "log-level": "fatal",
        ...ownFlags,
        ...(isTls && {
          "cert-file": file("server.crt"),
          "key-file": file("server.key"),
          "client-cert-auth": "true",
          "trusted-ca-file": file("ca.crt"),
        }),
      });
      const [program = "etcd", ...words] = [...endsWithParent, "etcd", ...flags];
      const log = openSync(logFile(index), "a");
      const child = spawn(program, words, { stdio: ["ignore", log, log] });
      closeSync(log);
      running.add(child);
      child.once("exit", () => running.delete(child));
      return child;
    };
    let child = start();
    return {
      url,
      output: () => readFileSync(logFile(index), "utf8"),
      name: `m${index}`,
      folder: file(`m${index}`),
      process: () => child,
      async pause() {
        child.kill("SIGSTOP");
        // The third field of proc(5)'s stat: T is stopped.
        while (!/\) T /.test(readFileSync(`/proc/${child.pid}/stat`, "utf8"))) await new Promise(setImmediate);
      },
      resume: () => void child.kill("SIGCONT"),
      async kill() {
        const ended = child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined;
        child.kill("SIGKILL");
        await ended;
      },
      restart: () => void (child = start()),
    };
  });
  const tls: TlsFiles =
    certificates === undefined
      ? {}
      : { ca: certificates["ca.crt"], cert: certificates["client.crt"], key: certificates["client.key"] };
  await Promise.all(members.map((member) => untilEtcdAnswers(member, tls)));
  return {
    members,
    urls: members.map(({ url }) => url),
    tls,
    tlsFlags: isTls
      ? ["--etcd-cafile", file("ca.crt"), "--etcd-certfile", file("client.crt"), "--etcd-keyfile", file("client.key")]
      : [],
    async stop() {
      await Promise.all(members.map((member) => member.kill()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const flagsOf = (flags: Readonly<Record<string, string | number>>): string[] =>
  Object.entries(flags).map(([name, value]) => `--${name}=${value}`);

/** Resolves once a member has a leader. */
export async function untilEtcdAnswers({ url, process, output }: EtcdMember, tls: TlsFiles): Promise<void> {
  for (const deadline = performance.now() + 120_000; ; await delay(10)) {
    try {
      const channel = await GrpcChannel.connect({ url, tls, timeoutMilliseconds: 1_000 });
      try {
        await channel.unary("/etcdserverpb.KV/Range", {
          message: Buffer.from([0x0a, 0x01, 0x61]),
          timeoutMilliseconds: 2_000,
        });
        return;
      } finally {
        channel.close();
      }
    } catch (error) {
      if (process().exitCode !== null) throw new Error(`etcd ended: ${output()}`, { cause: error });
      if (performance.now() > deadline) throw error;
    }
  }
}
