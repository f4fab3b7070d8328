import { execFile } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const graceMilliseconds = 20_000;

export interface Load {
  readonly name: string;
  readonly url: string;
  readonly token: string;
  /** Default: JSON. */
  readonly accept?: string | undefined;
  readonly body?: unknown;
  readonly seconds: number;
  /** Seconds of processor time that the server has used until now. */
  readonly cpuSeconds: () => number;
  /** A folder for h2load's files. */
  readonly scratch: string;
  /** A program and its arguments that run h2load, such as `taskset --cpu-list 1`. */
  readonly launcher?: readonly string[];
  /** How many connections, of 4 streams each. Default: 16. */
  readonly connections?: number;
}

export interface LoadResult {
  readonly perSecond: number;
  readonly p50Milliseconds: number;
  readonly p99Milliseconds: number;
  /** Microseconds of the server's processor time for each request, in all threads. Other programs change this figure little. */
  readonly cpuMicroseconds: number;
  /** Answers that were not 2xx. */
  readonly failed: number;
}

/** Runs h2load (Debian: nghttp2-client) for a while. */
export async function h2load(load: Load): Promise<LoadResult> {
  const {
    name,
    url,
    token,
    accept = "application/json",
    body,
    seconds,
    cpuSeconds,
    scratch,
    launcher = [],
    connections = 16,
  } = load;
  const log = join(scratch, `${name}.log`);
  const [program, ...args] = [...launcher, "h2load", `--log-file=${log}`] as const;
  args.push("--duration", String(seconds), "--clients", String(connections), "--max-concurrent-streams", "4");
  args.push("-H", `authorization: Bearer ${token}`, "-H", `accept: ${accept}`);
  if (body !== undefined) {
    const file = join(scratch, `${name}.json`);
    writeFileSync(file, JSON.stringify(body));
    args.push("-d", file, "-H", "content-type: application/json");
  }
  const cpuBefore = cpuSeconds();
  await run(program, [...args, url], { maxBuffer: 1 << 26, timeout: seconds * 1000 + graceMilliseconds }).catch(
    (error: unknown) => {
      if (!(error instanceof Error && "killed" in error && error.killed === true)) throw error;
      throw new Error("h2load has not ended, as happens on busy processors: run this again when the machine does less");
    },
  );
  const usedSeconds = cpuSeconds() - cpuBefore;
  const answers = readFileSync(log, "utf8")
    .trim()
    .split("\n")
    .map((line) => line.split("\t").map(Number))
    .filter((fields) => fields.length === 3);
  rmSync(log, { force: true });
  const milliseconds = answers.map(([, , microseconds = 0]) => microseconds / 1000).sort((a, b) => a - b);
  return {
    perSecond: Math.round(milliseconds.length / seconds),
    p50Milliseconds: milliseconds[milliseconds.length >> 1] ?? 0,
    p99Milliseconds: milliseconds[Math.floor(milliseconds.length * 0.99)] ?? 0,
    cpuMicroseconds: (usedSeconds * 1e6) / milliseconds.length,
    failed: answers.filter(([, status = 0]) => status < 200 || status > 299).length,
  };
}
