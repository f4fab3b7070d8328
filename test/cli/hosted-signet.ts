import assert from "node:assert/strict";
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { HostedCommand, HostedOutcome } from "./command-host.ts";

/** Runs command lines in one separate process, without a terminal and one at a time. */
export class HostedSignet {
  readonly #host: ChildProcess = fork(join(import.meta.dirname, "command-host.ts"), {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });

  /** Rejects when the process ended, for example because of an uncaught error. */
  async run(
    words: readonly string[],
    environment: HostedCommand["environment"] = {},
    { isOutputFull = false }: Partial<Pick<HostedCommand, "isOutputFull">> = {},
  ): Promise<HostedOutcome> {
    const ended = new AbortController();
    const answer = once(this.#host, "message", { signal: ended.signal });
    const onExit = (): void => ended.abort(new Error(`the process ended during: signet ${words.join(" ")}`));
    this.#host.once("exit", onExit);
    this.#host.send({ words, environment, isOutputFull } satisfies HostedCommand);
    const [outcome] = (await answer) as [HostedOutcome]; // what command-host.ts sends
    this.#host.off("exit", onExit);
    return outcome;
  }

  /** The output of a command that must succeed. */
  async succeed(words: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(words);
    assert.equal(code, 0, `signet ${words.join(" ")}: ${stderr}`);
    return stdout;
  }

  stop(): void {
    // A command may wait for SIGTERM itself.
    this.#host.kill("SIGKILL");
  }
}
