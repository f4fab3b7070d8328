import type { Log } from "../../logging/log.ts";
import { FollowedValue } from "./followed-value.ts";
import type { FollowedSetting, RefreshOptions } from "./followed-value.ts";

interface FollowedFilesOptions {
  readonly log: Pick<Log, "info" | "error">;
  /** How often to check the files. Default: only when `refresh` is called. */
  readonly pollMilliseconds?: number;
}

/** How often a process checks the files that its settings name. */
export const followMilliseconds = 1000;

/**
 * The files that settings name, read again when they change. While they cannot be used, or do not match each other
 * because one is just being replaced, the last good value stays in use and the log says why.
 */
export class FollowedFiles implements Disposable {
  readonly #options: FollowedFilesOptions;
  readonly #followed = new Set<{ refresh(options: RefreshOptions): void }>();
  /** The settings whose files cannot be used now. Shared with groups. */
  readonly #unusable: Set<string>;
  #timer: NodeJS.Timeout | undefined;
  #leave: () => void = () => {};

  constructor(options: FollowedFilesOptions, unusable = new Set<string>()) {
    this.#options = options;
    this.#unusable = unusable;
  }

  /**
   * Reads the files now. Throws what `load` throws. Returns a function that returns their current value without reading files.
   */
  follow<T>(setting: FollowedSetting<T>): () => T {
    const value = new FollowedValue(setting, { log: this.#options.log, unusable: this.#unusable });
    this.#followed.add(value);
    this.#start();
    return () => value.current;
  }

  /** Creates a group of files that are refreshed together with these, until the group is stopped. */
  group(): FollowedFiles {
    const group = new FollowedFiles({ log: this.#options.log }, this.#unusable);
    this.#followed.add(group);
    group.#leave = () => this.#followed.delete(group);
    this.#start();
    return group;
  }

  /** The settings whose files have changed and cannot be used. */
  unusable(): Iterable<string> {
    return this.#unusable;
  }

  /** Reads the files that have changed. Never throws. */
  refresh(options: RefreshOptions): void {
    for (const followed of this.#followed) followed.refresh(options);
  }

  [Symbol.dispose](): void {
    this.stop();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#followed.clear();
    this.#leave();
  }

  #start(): void {
    const { pollMilliseconds } = this.#options;
    if (pollMilliseconds === undefined) return;
    this.#timer ??= setInterval(() => this.refresh({ isForced: false }), pollMilliseconds).unref();
  }
}
