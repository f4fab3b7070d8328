import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** A bash in which the commands of a page run one after the other: variables and background jobs live until it is closed. */
export class ConsoleSession {
  readonly #folder: string;
  readonly #bash: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  #count = 0;

  constructor(folder: string, environment: NodeJS.ProcessEnv) {
    this.#folder = folder;
    // A process group of its own: closing ends the background jobs too.
    this.#bash = spawn("bash", ["--norc"], {
      cwd: folder,
      env: environment,
      stdio: ["pipe", "pipe", "inherit"],
      detached: true,
    });
    if (this.#bash.stdout === null) throw new Error("bash has no standard output");
    this.#lines = createInterface({ input: this.#bash.stdout })[Symbol.asyncIterator]();
  }

  /** What the command printed, on both streams, until it ended. */
  async run(command: string): Promise<string> {
    const output = join(this.#folder, `.output-${++this.#count}`);
    this.#bash.stdin?.write(`{ ${command}\n} > '${output}' 2>&1 < /dev/null; echo finished\n`);
    const { done } = await this.#lines.next();
    if (done === true) throw new Error(`bash ended at: ${command}`);
    return readFileSync(output, "utf8");
  }

  async close(): Promise<void> {
    if (this.#bash.exitCode !== null || this.#bash.pid === undefined) return;
    const ended = once(this.#bash, "exit");
    process.kill(-this.#bash.pid, "SIGKILL");
    await ended;
  }
}
