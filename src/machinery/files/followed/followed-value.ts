import { statSync } from "node:fs";
import { messageOf, errorCode } from "../../api/thrown-error.ts";
import type { Log } from "../../logging/log.ts";

export interface FollowedSetting<T> {
  /** The setting that names the files, for the log. */
  readonly setting: string;
  /** Called for each check, because a file may name other files. `current` is undefined before the first read. */
  readonly files: (current: T | undefined) => readonly string[];
  /**
   * Reads the files. An exception of the first call is thrown to the caller; later, the last good value stays in use.
   * `current` is undefined in the first call.
   */
  readonly load: (current: T | undefined) => T;
  /** Called with each value after the first one. When it throws, the last value stays in use. */
  readonly onChange?: (value: T) => void;
  /** Closes a value some time after the next value replaced it, when all work that used it has ended. Default: values are not closed. */
  readonly retirement?: { readonly milliseconds: number; close(value: T): void };
  /** Returns a warning about a value that is used anyway. The warning is logged, also at the start. Undefined: no warning. */
  readonly warningOf?: (value: T) => string | undefined;
  /** The fields of the log line about a new value. */
  readonly describe?: (value: T) => Readonly<Record<string, unknown>>;
}

export interface RefreshOptions {
  /** Whether an operator asked for the refresh: files that could not be used are then read again, and a failure is logged again. */
  readonly isForced: boolean;
}

interface FollowedValueOptions {
  readonly log: Pick<Log, "info" | "error">;
  /** Contains the setting while its files cannot be used. */
  readonly unusable: Set<string>;
}

/**
 * After a failed read, try again after this time even if the files did not change: the process may have been short of
 * descriptors.
 */
const retryMilliseconds = 10_000;

/** The value of the files of one setting: the last one that could be used. */
export class FollowedValue<T> {
  readonly #setting: FollowedSetting<T>;
  readonly #log: Pick<Log, "info" | "error">;
  readonly #unusable: Set<string>;
  #current: T;
  /** The version of the files from which the current value was read. */
  #version: string;
  /** The version that could not be used, and when it was read, by `performance.now()`. */
  #failed: { readonly version: string; readonly at: number } | undefined;

  /** Reads the files. Throws what `load` throws. */
  constructor(setting: FollowedSetting<T>, { log, unusable }: FollowedValueOptions) {
    this.#setting = setting;
    this.#log = log;
    this.#unusable = unusable;
    // Take the version first: a change during the read is then noticed at the next check.
    const before = versionsOf(setting.files(undefined));
    this.#current = setting.load(undefined);
    this.#version = this.#versionSince(before);
    this.#warn();
  }

  get current(): T {
    return this.#current;
  }

  /** Reads the files if they have changed. Never throws. */
  refresh({ isForced }: RefreshOptions): void {
    const versions = versionsOf(this.#files());
    const version = joined(versions);
    if (version === this.#version) return this.#forgetFailure();
    const known = version === this.#failed?.version && !isForced ? this.#failed : undefined;
    if (known !== undefined && performance.now() - known.at < retryMilliseconds) return;
    const about = this.#about();
    try {
      this.#take(this.#setting.load(this.#current));
      this.#version = this.#versionSince(versions);
      this.#failed = undefined;
      this.#unusable.delete(this.#setting.setting);
      this.#log.info({ ...about, ...this.#setting.describe?.(this.#current) }, "file read again");
      this.#warn();
    } catch (error) {
      if (known === undefined) {
        const reason = messageOf(error);
        this.#log.error({ ...about, reason }, "the file cannot be used; its last good contents stay in use");
      }
      this.#unusable.add(this.#setting.setting);
      this.#failed = { version, at: performance.now() };
    }
  }

  #take(next: T): void {
    const { onChange, retirement } = this.#setting;
    const previous = this.#current;
    onChange?.(next);
    this.#current = next;
    if (retirement !== undefined) setTimeout(() => retirement.close(previous), retirement.milliseconds).unref();
  }

  /** Forgets the version that could not be used. */
  #forgetFailure(): void {
    if (this.#failed !== undefined) this.#unusable.delete(this.#setting.setting);
    this.#failed = undefined;
  }

  #warn(): void {
    const reason = this.#setting.warningOf?.(this.#current);
    if (reason === undefined) return;
    this.#log.error({ ...this.#about(), reason }, "the file is used, but something is wrong with it");
  }

  #files(): readonly string[] {
    return this.#setting.files(this.#current);
  }

  /** The fields of every line of the log. */
  #about(): { readonly setting: string; readonly files: readonly string[] } {
    return { setting: this.#setting.setting, files: this.#files() };
  }

  /** The version of the files as it was before a read. `before`: their versions then; the read may have named more files. */
  #versionSince(before: Versions): string {
    return joined(versionsOf(this.#files(), before));
  }
}

type Versions = ReadonlyMap<string, string>;

const versionsOf = (files: readonly string[], known: Versions = new Map()): Versions =>
  new Map(files.map((file) => [file, known.get(file) ?? fileVersion(file)]));

const joined = (versions: Versions): string => [...versions].join();

/**
 * A text that changes with the file and with its permissions. Times alone are not enough, because a copy can keep the times of its
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
