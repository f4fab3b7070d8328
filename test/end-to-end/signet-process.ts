import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { endsWithParent } from "../../bench/ends-with-parent.ts";
import { eventually } from "./eventually.ts";

const main = resolve(import.meta.dirname, "../../src/main.js");

/** A `signet` command that runs in a separate process. */
export class SignetProcess {
  readonly #child: ChildProcess;
  #output = "";

  constructor(...args: readonly string[]) {
    const [program = process.execPath, ...words] = [...endsWithParent, process.execPath, main, ...args];
    this.#child = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"] });
    const collect = (chunk: Buffer): void => void (this.#output += chunk.toString());
    this.#child.stdout?.on("data", collect);
    this.#child.stderr?.on("data", collect);
  }

  /** Standard output and error so far. */
  get output(): string {
    return this.#output;
  }

  /** The first group of the first match in the output. */
  async find(pattern: RegExp): Promise<string> {
    return eventually(`${pattern} in the output`, () => {
      if (this.#child.exitCode !== null) throw new Error(`the process has ended:\n${this.#output}`);
      return pattern.exec(this.#output)?.[1];
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill(signal);
    await ended;
  }

  /** Runs a command to its end and returns what it prints. Rejects when it fails. */
  static async run(...args: readonly string[]): Promise<string> {
    const command = new SignetProcess(...args);
    const [code] = (await once(command.#child, "close")) as [number | null];
    if (code === 0) return command.output;
    throw new Error(`signet ${args[0]} ended with ${code}:\n${command.output}`);
  }
}
