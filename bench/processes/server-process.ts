import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { endsWithParent } from "./ends-with-parent.ts";
import { threadSeconds } from "./process-cpu.ts";
import { processStatus } from "./process-status.ts";
import { signetProgram } from "./signet-program.ts";

/** A server in a separate process, on a free port. Disposing kills it. */
export interface ServerProcess extends AsyncDisposable {
  readonly url: string;
  readonly caCertificates: Buffer;
  /** What `ready` printed. */
  readonly readyMilliseconds: number;
  readonly process: ChildProcess;
  /** The ids of the processes that it started: its workers. */
  workerIds(): number[];
  /** Seconds of processor time that its processes have used until now, in all threads that still run. */
  cpuSeconds(): number;
  /** Resident memory in MiB, of all its processes. */
  residentMebibytes(): number;
  /** SIGTERM; resolves with the exit code when the process has ended, or null when it did not and was killed. */
  stop(): Promise<number | null>;
  /** SIGKILL. */
  kill(): Promise<void>;
}

export interface ServerProcessOptions {
  /** The program's file. Default: `signetProgram`. */
  readonly main?: string;
  readonly flags?: readonly string[];
  /** Of Node.js. */
  readonly runtimeFlags?: readonly string[];
  /** A program and its arguments that run the server, such as `prlimit --fsize=N`. */
  readonly launcher?: readonly string[];
  /** Called with the process as soon as it runs. */
  readonly onSpawned?: (process: ChildProcess) => void;
}

export const adminToken = "bench-administrator";

/** The server's own grace period is ten seconds. A server that takes as long as this hangs. */
const stoppingMilliseconds = 40_000;

const root = join(import.meta.dirname, "../..");

/** Starts `signet serve` on a data directory and waits until it is ready. Rejects when it ends before. */
export async function startServerProcess(
  dataDirectory: string,
  { main = signetProgram, flags = [], runtimeFlags = [], launcher = [], onSpawned }: ServerProcessOptions = {},
): Promise<ServerProcess> {
  const tokens = join(dataDirectory, "..", "tokens.csv");
  writeFileSync(tokens, `${adminToken},bench,bench,"system:masters"\n`, { mode: 0o600 });
  const [program = process.execPath, ...words] = [
    ...endsWithParent,
    ...launcher,
    process.execPath,
    ...runtimeFlags,
    "--disable-sigusr1",
    main,
    "serve",
    `--data-dir=${dataDirectory}`,
    "--secure-port=0",
    `--token-auth-file=${tokens}`,
    "--log-level=warn",
    ...flags,
  ];
  const child = spawn(program, words, {
    stdio: ["ignore", "pipe", "inherit"],
    cwd: root,
    // As bin/signet does. This code does not use bin/signet, because it passes flags to the runtime.
    env: { MALLOC_TRIM_THRESHOLD_: "1048576", ...process.env },
  });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  onSpawned?.(child);
  const ready = await new Promise<{ url: string; milliseconds: number }>((resolve, reject) => {
    let url = "";
    void ended.then((code) => reject(new Error(`the server ended with code ${code}`)));
    createInterface({ input: child.stdout }).on("line", (line) => {
      url = /https:\/\/[^\s]+/.exec(line)?.[0] ?? url;
      const milliseconds = /^ready in (\d+) ms/.exec(line)?.[1];
      if (milliseconds !== undefined) resolve({ url, milliseconds: Number(milliseconds) });
    });
  });
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    const late = setTimeout(() => child.kill("SIGKILL"), stoppingMilliseconds);
    const code = await ended;
    clearTimeout(late);
    return code;
  };
  const kill = async (): Promise<void> => void (await end("SIGKILL"));
  return {
    url: ready.url,
    caCertificates: readFileSync(join(dataDirectory, "ca.crt")),
    readyMilliseconds: ready.milliseconds,
    process: child,
    workerIds: () => childrenOf(child.pid ?? 0),
    cpuSeconds: () => sumOfProcesses(child, threadSeconds),
    residentMebibytes: () => sumOfProcesses(child, residentMebibytes),
    stop: () => end("SIGTERM"),
    kill,
    [Symbol.asyncDispose]: kill,
  };
}

const sumOfProcesses = ({ pid = 0 }: ChildProcess, measure: (id: number) => number): number =>
  [pid, ...childrenOf(pid)].map(measure).reduce((sum, one) => sum + one, 0);

const childrenOf = (id: number): number[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && processStatus(Number(name), "PPid") === id)
    .map(Number);

/** Of one process. */
export const residentMebibytes = (id: number): number => processStatus(id, "VmRSS") / 1024;
