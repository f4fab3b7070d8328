import { fork } from "node:child_process";
import { join } from "node:path";
import { threadSeconds } from "./process-cpu.ts";

/** The bare server in a separate process, see `bare-server.ts`. */
export interface BareServer {
  readonly url: string;
  /** Seconds of processor time that it has used until now. */
  cpuSeconds(): number;
  stop(): void;
}

export async function startBareServer(): Promise<BareServer> {
  const child = fork(join(import.meta.dirname, "bare-server.ts"));
  const port = await new Promise<number>((resolve) => child.once("message", (sent) => resolve(Number(sent))));
  return {
    url: `https://127.0.0.1:${port}`,
    cpuSeconds: () => threadSeconds(child.pid ?? 0),
    stop: () => void child.kill(),
  };
}
