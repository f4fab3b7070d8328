import { onReloadSignal } from "../machinery/command-line/reload-signal.ts";
import { stopSignal } from "../machinery/command-line/stop-signal.ts";
import { FollowedFiles, followMilliseconds } from "../machinery/files/followed/followed-files.ts";
import { oncePerTurn } from "../machinery/scheduling/once-per-turn.ts";
import type { Log } from "../machinery/logging/log.ts";
import { endProcess } from "../machinery/end-process.ts";

interface StopEvent {
  readonly reason: "stop";
  readonly signal: string;
}

/** What ends or restarts the agent inside its process. */
export type AgentEvent = StopEvent | { readonly reason: "reload"; readonly why: string };

interface SettingsFiles {
  /** The files of the settings in use. Empty: no file is followed. */
  readonly first: readonly string[];
  /** Reads and checks the settings again, and returns their files. Throws an error with one line for people. */
  readonly load: () => readonly string[];
}

/**
 * The signals and the changes of the settings' files that a running agent reacts to. A second SIGTERM or SIGINT, more than a
 * second later, ends the process at once.
 */
export class AgentEvents {
  /** The event that ends the agent, as soon as there is one. */
  readonly stop: Promise<StopEvent>;
  readonly #followed: FollowedFiles;
  readonly #waiting: AgentEvent[] = [];
  #notify: (() => void) | undefined;

  /** Listens to the signals of the process from now on, and until the process ends. */
  constructor({ first, load }: SettingsFiles, log: Log) {
    this.#followed = new FollowedFiles({ log, pollMilliseconds: followMilliseconds });
    this.stop = stopSignal(() => endProcess(1)).then((signal) => ({ reason: "stop", signal }));
    void this.stop.then((event) => this.#add(event));
    onReloadSignal(oncePerTurn(() => this.#add({ reason: "reload", why: "SIGHUP" })));
    if (first.length === 0) return;
    this.#followed.follow<readonly string[]>({
      setting: "config",
      files: (current) => current ?? first,
      load: (current) => (current === undefined ? first : load()),
      onChange: (current) => this.#add({ reason: "reload", why: `${current.join(" or ")} has changed` }),
    });
  }

  /** Waits for the next event. A stop takes precedence over a reload, and several reloads become one. */
  async next(): Promise<AgentEvent> {
    for (;;) {
      const stop = this.#waiting.find(({ reason }) => reason === "stop");
      const event = stop ?? this.#waiting.shift();
      if (event !== undefined) return event;
      await new Promise<void>((resolve) => (this.#notify = resolve));
    }
  }

  /** Stops following the files. */
  close(): void {
    this.#followed.stop();
  }

  #add(event: AgentEvent): void {
    if (event.reason === "stop" || this.#waiting.length === 0) this.#waiting.push(event);
    this.#notify?.();
  }
}
