import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { encodePrivateKeyPem, generatePrivateKey } from "../../src/pki/keys/keys.ts";
import { issueTestCertificates } from "../../test/machinery/storage/etcd/etcd-certificates.ts";
import { endsWithParent } from "./ends-with-parent.ts";
import { freePorts } from "./free-ports.ts";
import { processCpuSeconds } from "./process-cpu.ts";
import { adminToken, residentMebibytes } from "./server-process.ts";

/** A kube-apiserver with an etcd of its own. */
export interface UpstreamServer {
  readonly url: string;
  readonly caCertificates: Buffer;
  /** The time from the start of etcd until /readyz is ok. */
  readonly readyMilliseconds: number;
  readonly apiServer: MeasuredProcess;
  readonly etcd: MeasuredProcess;
  /** SIGTERM to both, one after the other. */
  stop(): Promise<void>;
}

interface MeasuredProcess {
  /** Seconds of processor time that it has used until now. */
  cpuSeconds(): number;
  residentMebibytes(): number;
}

const readyTimeoutMilliseconds = 120_000;

/** Starts both in an empty folder, with the authorizers and the kind of token key that Signet has by default. */
export async function startUpstreamServer(program: string, folder: string): Promise<UpstreamServer> {
  const file = (name: string): string => join(folder, name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const certificates = issueTestCertificates();
  const tokenKey = encodePrivateKeyPem(generatePrivateKey("ECDSA P-256"));
  const files = { ...certificates, "token.key": tokenKey, "tokens.csv": `${adminToken},bench,bench,system:masters\n` };
  for (const [name, text] of Object.entries(files)) writeFileSync(file(name), text, { mode: 0o600 });
  const [port = 0, clientPort = 0, peerPort = 0] = await freePorts(3);
  const etcdUrl = `http://127.0.0.1:${clientPort}`;
  const url = `https://127.0.0.1:${port}`;

  const startedAt = performance.now();
  const etcd = start("etcd", {
    log: file("etcd.log"),
    flags: {
      "data-dir": file("etcd"),
      "listen-client-urls": etcdUrl,
      "advertise-client-urls": etcdUrl,
      "listen-peer-urls": `http://127.0.0.1:${peerPort}`,
      "log-level": "error",
    },
  });
  const apiServer = start(program, {
    log: file("kube-apiserver.log"),
    flags: {
      "etcd-servers": etcdUrl,
      "bind-address": "127.0.0.1",
      "secure-port": port,
      "tls-cert-file": file("server.crt"),
      "tls-private-key-file": file("server.key"),
      "client-ca-file": file("ca.crt"),
      "token-auth-file": file("tokens.csv"),
      "authorization-mode": "Node,RBAC",
      "service-account-issuer": "https://kubernetes.default.svc",
      "service-account-signing-key-file": file("token.key"),
      "service-account-key-file": file("token.key"),
      "service-cluster-ip-range": "10.0.0.0/16",
    },
  });
  const stop = async (): Promise<void> => {
    await end(apiServer);
    await end(etcd);
  };
  try {
    await untilReady(`${url}/readyz`, { ca: certificates["ca.crt"], process: apiServer });
  } catch (error) {
    await stop();
    throw new Error(`kube-apiserver did not start: ${lastLines(file("kube-apiserver.log"))}`, { cause: error });
  }
  return {
    url,
    caCertificates: Buffer.from(certificates["ca.crt"]),
    readyMilliseconds: performance.now() - startedAt,
    apiServer: measured(apiServer),
    etcd: measured(etcd),
    stop,
  };
}

interface Start {
  readonly flags: Readonly<Record<string, string | number>>;
  /** A file. */
  readonly log: string;
}

function start(program: string, { flags, log }: Start): ChildProcess {
  const output = openSync(log, "a", 0o600);
  const words = [...endsWithParent, program, ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`)];
  const child = spawn(words[0] ?? program, words.slice(1), { stdio: ["ignore", output, output] });
  closeSync(output);
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}

const measured = ({ pid = 0 }: ChildProcess): MeasuredProcess => ({
  cpuSeconds: () => processCpuSeconds(pid),
  residentMebibytes: () => residentMebibytes(pid),
});

async function untilReady(url: string, { ca, process }: { readonly ca: string; readonly process: ChildProcess }) {
  for (const deadline = performance.now() + readyTimeoutMilliseconds; ; await delay(20)) {
    if (process.exitCode !== null) throw new Error("it ended");
    if ((await statusOf(url, ca)) === 200) return;
    if (performance.now() > deadline) throw new Error("it is not ready");
  }
}

/** 0 when nothing answers. */
const statusOf = (url: string, ca: string): Promise<number> =>
  new Promise((resolve) => {
    const sent = request(url, { ca, agent: false }, (answer) => {
      answer.resume().once("end", () => resolve(answer.statusCode ?? 0));
    });
    sent.once("error", () => resolve(0)).end();
  });

const lastLines = (log: string): string => readFileSync(log, "utf8").trim().split("\n").slice(-5).join("\n");
