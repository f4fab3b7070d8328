import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** A server in a process of its own, on a port of its own. */
export interface ServerProcess {
  readonly url: string;
  readonly caCertificates: Buffer;
  /** What `ready` printed. */
  readonly readyMilliseconds: number;
  readonly process: ChildProcess;
  /** Resident memory in MiB. */
  residentMebibytes(): number;
  stop(): Promise<void>;
}

export const adminToken = "bench-administrator";

/** Starts `signet serve` on a data directory and waits until it is ready. */
export async function startServerProcess(
  dataDirectory: string,
  {
    flags = [],
    memoryLimitMebibytes,
  }: { readonly flags?: readonly string[]; readonly memoryLimitMebibytes?: number } = {},
): Promise<ServerProcess> {
  const tokens = join(dataDirectory, "..", "tokens.csv");
  writeFileSync(tokens, `${adminToken},bench,bench,"system:masters"\n`, { mode: 0o600 });
  const main = join(import.meta.dirname, "..", "src", "main.ts");
  const child = spawn(
    process.execPath,
    [
      ...(memoryLimitMebibytes === undefined ? [] : [`--max-old-space-size=${memoryLimitMebibytes}`]),
      main,
      "serve",
      ...["--data-dir", dataDirectory, "--secure-port", "0", "--token-auth-file", tokens, "--log-level", "warn"],
      ...flags,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const ready = await new Promise<{ url: string; milliseconds: number }>((resolve, reject) => {
    let url = "";
    child.once("exit", (code) => reject(new Error(`the server ended with code ${code}`)));
    createInterface({ input: child.stdout }).on("line", (line) => {
      url = /https:\/\/[^\s]+/.exec(line)?.[0] ?? url;
      const milliseconds = /^ready in (\d+) ms/.exec(line)?.[1];
      if (milliseconds !== undefined) resolve({ url, milliseconds: Number(milliseconds) });
    });
  });
  child.removeAllListeners("exit");
  return {
    url: ready.url,
    caCertificates: readFileSync(join(dataDirectory, "ca.crt")),
    readyMilliseconds: ready.milliseconds,
    process: child,
    residentMebibytes: () =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1] ?? 0) / 1024,
    stop: () =>
      new Promise((resolve) => {
        child.once("exit", () => resolve());
        child.kill("SIGTERM");
      }),
  };
}
