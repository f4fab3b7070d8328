import { spawn } from "node:child_process";
import { failureText } from "./agent-log.ts";
import type { AgentLog } from "./agent-log.ts";

/** Which file is another one now. */
export interface FileChange {
  readonly change: "client-certificate" | "serving-certificate" | "trust-bundle";
  readonly file: string;
}

const longestRunMilliseconds = 60_000;

/**
 * Runs the operator's command after each change, one at a time, by `sh -c`: the command is the operator's own text, and
 * what changed comes as the variables SIGNET_CHANGE and SIGNET_CHANGED_FILE, never as part of the command. Its output goes to
 * standard error. A command that fails, or takes more than a minute, is logged; the next change runs it again.
 */
export class ChangeCommand {
  readonly #command: string;
  readonly #log: AgentLog;
  readonly #waiting = new Map<string, FileChange>();
  #isRunning = false;

  constructor(command: string, log: AgentLog) {
    this.#command = command;
    this.#log = log;
  }

  /** Changes of one file while the command runs are one change. */
  changed(change: FileChange): void {
    this.#waiting.set(change.file, change);
    if (!this.#isRunning) void this.#runAll();
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    for (const [key, change] of this.#waiting) {
      this.#waiting.delete(key);
      const fault = await this.#run(change);
      if (fault === undefined) this.#log.info({ ...change }, "ran the command for changes");
      else this.#log.error({ ...change }, `the command for changes ${fault}`);
    }
    this.#isRunning = false;
  }

  #run({ change, file }: FileChange): Promise<string | undefined> {
    return new Promise((resolve) => {
      const child = spawn("/bin/sh", ["-c", this.#command], {
        env: { ...process.env, SIGNET_CHANGE: change, SIGNET_CHANGED_FILE: file },
        stdio: ["ignore", 2, 2],
        timeout: longestRunMilliseconds,
        killSignal: "SIGKILL",
      });
      child.once("error", (error) => resolve(`could not be run: ${failureText(error)}`));
      child.once("exit", (code, signal) => {
        if (code === 0) resolve(undefined);
        else resolve(code === null ? `was ended by ${signal}` : `ended with code ${code}`);
      });
    });
  }
}
