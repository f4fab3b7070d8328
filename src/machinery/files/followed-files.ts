import { statSync } from "node:fs";
import { messageOf, errorCode } from "../api/thrown-error.ts";
import type { Log } from "../logging/log.ts";

export interface FollowedSetting<T> {
  /** The setting that names the files, for the log. */
  readonly setting: string;
  /** Called for each check: a file may name others. `current` is undefined before the first read. */
  readonly files: (current: T | undefined) => readonly string[];
  /**
   * Reads the files. An exception of the first call is thrown to the caller; later, the last good value stays in use.
   * `current` is undefined in the first call.
   */
  readonly load: (current: T | undefined) => T;
  /** Called with each value after the first one. When it throws, the last value stays in use. */
  readonly onChange?: (value: T) => void;
  /** Closes a value some time after the next one came into use: what began with it has ended by then. Default: nothing is closed. */
  readonly retirement?: { readonly milliseconds: number; close(value: T): void };
  /** Returns what to warn about in a value that is used anyway. It is logged, at the start too. Undefined: nothing. */
  readonly warningOf?: (value: T) => string | undefined;
  /** What the log says of a new value. */
  readonly describe?: (value: T) => Readonly<Record<string, unknown>>;
}

export interface FollowedFilesOptions {
  readonly log: Pick<Log, "info" | "error">;
  /** How often to check the files. Default: only when `refresh` is called. */
  readonly pollMilliseconds?: number;
}

export interface RefreshOptions {
  /** Whether an operator asked for it: files that could not be used are then read again, and their failure is logged again. */
  readonly isForced: boolean;
}

/** How often a process checks the files that its settings name. */
export const followMilliseconds = 1000;

/**
 * The files that settings name, read again when they change. While they cannot be used, or do not match each other
 * because one is just being replaced, the last good value stays in use and the log says why.
 */
export class FollowedFiles implements Disposable {
  readonly #options: FollowedFilesOptions;
  readonly #refreshers = new Set<(options: RefreshOptions) => void>();
  /** The settings whose files cannot be used now. Shared with groups. */
  readonly #unusable: Set<string>;
  #timer: NodeJS.Timeout | undefined;
  #leave: () => void = () => {};

  constructor(options: FollowedFilesOptions, unusable = new Set<string>()) {
    this.#options = options;
    this.#unusable = unusable;
  }

  /** Reads the files now. Returns a function that returns their current value and reads nothing: it costs a call. */
  follow<T>(followed: FollowedSetting<T>): () => T {
    const { files, load, onChange, retirement, warningOf, describe } = followed;
    const { log } = this.#options;
    const tell = (one: T): void => {
      const reason = warningOf?.(one);
      const about = { setting: followed.setting, files: files(one) };
      if (reason !== undefined) log.error({ ...about, reason }, "the file is used, but something is wrong with it");
    };
    // Take the version first: a change during the read is then noticed at the next check.
    const before = versionsOf(files(undefined));
    let value = load(undefined);
    let seen = versionOf(versionsOf(files(value), before));
    tell(value);
    let failed: { readonly version: string; readonly at: number } | undefined;
    this.#refreshers.add(({ isForced }) => {
      const versions = versionsOf(files(value));
      const now = versionOf(versions);
      if (now === seen) {
        // What could not be used is gone again.
        if (failed !== undefined) this.#unusable.delete(followed.setting);
        failed = undefined;
        return;
      }
      const known = now === failed?.version && !isForced ? failed : undefined;
      if (known !== undefined && performance.now() - known.at < retryMilliseconds) return;
      const about = { setting: followed.setting, files: files(value) };
      try {
        const previous = value;
        const next = load(previous);
        onChange?.(next);
        value = next;
        if (retirement !== undefined) setTimeout(() => retirement.close(previous), retirement.milliseconds).unref();
        seen = versionOf(versionsOf(files(value), versions));
        failed = undefined;
        this.#unusable.delete(followed.setting);
        log.info({ ...about, ...describe?.(value) }, "file read again");
        tell(value);
      } catch (error) {
        const reason = messageOf(error);
        if (known === undefined)
          log.error({ ...about, reason }, "the file cannot be used; its last good contents stay in use");
        this.#unusable.add(followed.setting);
        failed = { version: now, at: performance.now() };
      }
    });
    this.#start();
    return () => value;
  }

  /** Files that are followed together with these until the group is stopped. */
  group(): FollowedFiles {
    const group = new FollowedFiles({ log: this.#options.log }, this.#unusable);
    const refresh = (refreshOptions: RefreshOptions): void => group.refresh(refreshOptions);
    this.#refreshers.add(refresh);
    group.#leave = () => this.#refreshers.delete(refresh);
    this.#start();
    return group;
  }

  /** The settings whose files have changed and cannot be used. */
  unusable(): Iterable<string> {
    return this.#unusable;
  }

  /** Reads the files that have changed. Never throws. */
  refresh(options: RefreshOptions): void {
    for (const refresh of this.#refreshers) refresh(options);
  }

  [Symbol.dispose](): void {
    this.stop();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#refreshers.clear();
    this.#leave();
  }

  #start(): void {
    const { pollMilliseconds } = this.#options;
    if (pollMilliseconds === undefined) return;
    this.#timer ??= setInterval(() => this.refresh({ isForced: false }), pollMilliseconds).unref();
  }
}

/**
 * After a failed read, try again after this time even if the files did not change: the process may have been short of
 * descriptors.
 */
const retryMilliseconds = 10_000;

type Versions = ReadonlyMap<string, string>;

/** `known`: those before a read, which may have named other files since. */
const versionsOf = (files: readonly string[], known: Versions = new Map()): Versions =>
  new Map(files.map((file) => [file, known.get(file) ?? fileVersion(file)]));

const versionOf = (versions: Versions): string => [...versions].join();

/**
 * Changes with the file and with its permissions. Times alone are not enough: a copy can keep the times of its
 * original.
 */
function fileVersion(file: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(file);
    return `${ino}/${size}/${mtimeMs}/${ctimeMs}`;
  } catch (error) {
    // The file is missing, or its folder cannot be searched. Reading it will report the error.
    return errorCode(error) || "unknown";
  }
}
