import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { hash } from "node:crypto";
import type { Clock, Sleep } from "../../machinery/api/clock.ts";
import { backoffMilliseconds } from "../../machinery/loops/backoff.ts";
import type { Backoff } from "../../machinery/loops/backoff.ts";
import { WakeSignal } from "../../machinery/scheduling/wake-signal.ts";
import { messageOf } from "../../machinery/api/thrown-error.ts";
import type { Hook } from "../agent-settings.ts";
import type { HookMemory } from "./hook-memory.ts";
import { longestHookOutputBytes, watchLogGrowth } from "./log-growth.ts";
import type { Log } from "../../machinery/logging/log.ts";

/** A file or folder that was written, and the hook to run for it. */
interface FileChange {
  /** `client-certificate`, `serving-certificate`, `trust-bundle`, or `NAME-certificate`. */
  readonly change: string;
  readonly file: string;
  /** The digest of the file's contents. */
  readonly digest: string;
  readonly hook: Hook;
}

interface HookRunnerOptions {
  readonly memory: HookMemory;
  readonly log: Log;
  /** A clock that changes of the system time do not affect. */
  readonly monotonic: Clock;
  /** Returns random numbers from 0 to 1, as `Math.random` does. */
  readonly random: () => number;
  readonly sleep: Sleep;
  /** Returns the size of the log in bytes. Default: the size of standard error, if that is a file. Undefined: it is no file. */
  readonly logBytes?: () => number | undefined;
}

interface Task {
  readonly change: FileChange;
  readonly contents: string;
  readonly failures: number;
  /** The earliest time of the next run, in milliseconds of the monotonic clock. */
  readonly notBefore: number;
  readonly fault: string | undefined;
}

const failedHookBackoff: Backoff = { firstMilliseconds: 10_000, longestMilliseconds: 10 * 60_000 };

/** How long the end of the process waits for a hook, at most. */
export const hookGraceMilliseconds = 4000;

/**
 * Runs hooks after changes, one at a time. A hook that has finished for the present contents of a file does not run again, unless the file
 * was repaired. A hook that failed, or that did not run before the agent ended, runs again: after 10 s, doubling to 10 minutes, and after a
 * restart.
 *
 * The command is the operator's own text. What has changed is in the variables SIGNET_CHANGE and SIGNET_CHANGED_FILE, never in the command
 * itself. The command's output goes to standard error.
 */
export class HookRunner {
  readonly #options: HookRunnerOptions;
  readonly #tasks = new Map<string, Task>();
  readonly #stopping = new AbortController();
  readonly #wake = new WakeSignal();
  #running: ChildProcess | undefined;
  #work: Promise<void> | undefined;

  constructor(options: HookRunnerOptions) {
    this.#options = options;
  }

  /** Says what a file contains now. Several changes of a file while a hook runs count as one change. */
  changed(change: FileChange): void {
    const contents = contentsFor(change);
    if (this.#tasks.get(change.file)?.contents === contents) return;
    if (this.#options.memory.finishedContents(change.file) === contents) return;
    this.#options.memory.forget(change.file);
    this.#tasks.set(change.file, { change, contents, failures: 0, notBefore: 0, fault: undefined });
    this.#wake.wake();
    this.#work ??= this.#run();
  }

  /**
   * Lets the hook of a file run again for the same contents. Call it before `changed`, when the file had other contents, another mode or
   * another owner for a while: programs may have read it then.
   */
  repaired(file: string): void {
    this.#tasks.delete(file);
    this.#options.memory.forget(file);
  }

  /** Whether every hook has finished. */
  get isIdle(): boolean {
    return this.#tasks.size === 0;
  }

  /** The faults of hooks whose last run failed, one line each. */
  faults(): string[] {
    return [...this.#tasks.values()].flatMap(({ change, fault }) =>
      fault === undefined ? [] : [`the hook for ${change.file} ${fault}`],
    );
  }

  /** Waits for a running hook, at most for the given time. Then the hook is killed, and runs again after the next start. */
  async stop({ graceMilliseconds }: { readonly graceMilliseconds: number }): Promise<void> {
    this.#stopping.abort();
    const done = new AbortController();
    const killed = this.#options.sleep(graceMilliseconds, done.signal).then(() => killGroup(this.#running));
    await this.#work;
    done.abort();
    await killed;
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      this.#wake.renew();
      const [next] = [...this.#tasks.values()].sort((one, other) => one.notBefore - other.notBefore);
      if (next === undefined) break;
      const wait = next.notBefore - this.#options.monotonic.now();
      if (wait > 0) await this.#options.sleep(wait, this.#wake.or(this.#stopping.signal));
      else await this.#attempt(next);
    }
    this.#work = undefined;
  }

  async #attempt(task: Task): Promise<void> {
    const { log, memory, monotonic, random } = this.#options;
    const { change, file, hook } = task.change;
    const fields = { change, file };
    const fault = await this.#faultOf(task.change);
    const isStopped = this.#stopping.signal.aborted && fault !== undefined;
    // A newer task has replaced this one, or the agent stops.
    if (this.#tasks.get(file) !== task || isStopped) return;
    if (fault === undefined) {
      memory.finish(file, task.contents);
      this.#tasks.delete(file);
      log.info(fields, "the hook has finished");
      return;
    }
    const failures = task.failures + 1;
    const wait = backoffMilliseconds(failedHookBackoff, { failures, random: random() });
    this.#tasks.set(file, { ...task, failures, notBefore: monotonic.now() + wait, fault });
    const what = hook.check === undefined ? "the hook" : "the hook or its check";
    log.error({ ...fields, failures, retryInSeconds: Math.ceil(wait / 1000) }, `${what} ${fault}`);
  }

  /** Runs the hook. Resolves with the reason when it did not finish. */
  async #faultOf(change: FileChange): Promise<string | undefined> {
    const { check, command } = change.hook;
    const fault = check === undefined ? undefined : await this.#execute(check, change);
    if (fault !== undefined) return `was not run, because its check ${fault}`;
    return this.#stopping.signal.aborted ? "was not run" : this.#execute(command, change);
  }

  #execute(command: string, change: FileChange): Promise<string | undefined> {
    return new Promise((resolve) => {
      const couldNotRun = (error: unknown): string => `could not be run: ${messageOf(error)}`;
      let child: ChildProcess;
      try {
        child = startShell(command, change);
      } catch (error) {
        return resolve(couldNotRun(error)); // the system has no memory for it, or the command is too long
      }
      this.#running = child;
      const { timeoutMilliseconds } = change.hook;
      let excess: string | undefined;
      const killFor = (reason: string): void => {
        excess ??= reason;
        killGroup(child);
      };
      const timer = setTimeout(() => killFor(`ran longer than ${timeoutMilliseconds / 1000} s`), timeoutMilliseconds);
      const growth = watchLogGrowth(
        () => killFor(`wrote more than ${longestHookOutputBytes / 2 ** 20} MiB into the log`),
        this.#options.logBytes,
      );
      const end = (fault: string | undefined): void => {
        clearTimeout(timer);
        growth.stop();
        this.#running = undefined;
        resolve(fault);
      };
      child.once("error", (error) => end(couldNotRun(error)));
      child.once("exit", (code, signal) => {
        if (code === 0) end(undefined);
        else if (excess !== undefined) end(`was killed: it ${excess}`);
        else end(code === null ? `was ended by ${signal}` : `ended with code ${code}`);
      });
    });
  }
}

/**
 * Starts a shell in a process group of its own, so that everything that the command has started is ended with it, and Ctrl-C does not reach
 * it.
 */
const startShell = (command: string, { change, file }: FileChange): ChildProcess =>
  spawn("/bin/sh", ["-c", command], {
    env: { ...process.env, SIGNET_CHANGE: change, SIGNET_CHANGED_FILE: file },
    stdio: ["ignore", 2, 2],
    detached: true,
  });

/** A digest of the file's contents and of the hook, because a changed command must run for the same contents too. */
const contentsFor = ({ digest, hook }: FileChange): string =>
  hash("sha256", JSON.stringify([digest, hook.check, hook.command]), "hex");

function killGroup(child: ChildProcess | undefined): void {
  if (child?.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // The process group has just ended.
  }
}
