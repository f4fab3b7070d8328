import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { endsWithParent } from "../../bench/processes/ends-with-parent.ts";
import { eventually } from "./eventually.ts";

interface ProgramOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** A program that runs in a separate process. */
export class ProgramProcess {
  readonly #child: ChildProcess;
  #output = "";

  constructor(command: readonly string[], options: ProgramOptions = {}) {
    const [program = "", ...words] = [...endsWithParent, ...command];
    this.#child = spawn(program, words, { ...options, stdio: ["ignore", "pipe", "pipe"] });
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

  get processId(): number {
    return this.#child.pid ?? 0;
  }

  /** Its exit code after it has ended, or null when a signal ended it. */
  async ended(): Promise<number | null> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return exitCode;
    const [code] = (await once(this.#child, "close")) as [number | null];
    return code;
  }
}
