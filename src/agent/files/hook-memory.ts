import { join } from "node:path";
import { parseJsonObject } from "../../machinery/api/json-object.ts";
import { messageOf } from "../../machinery/api/thrown-error.ts";
import { writePrivateFile } from "../../machinery/files/atomic-file.ts";
import { readPrivateFile } from "../../machinery/files/private-file.ts";
import type { Log } from "../../machinery/logging/log.ts";

/** Remembers for which contents of each file a hook has finished. It is kept in the data directory, so that a restart knows. */
export class HookMemory {
  readonly #file: string;
  readonly #log: Log;
  readonly #finished: Map<string, string>;

  constructor(dataDirectory: string, log: Log) {
    this.#file = join(dataDirectory, "hooks.json");
    this.#log = log;
    this.#finished = readMemory(this.#file);
  }

  /** The digest of the contents and the hook that have finished for a file. Undefined: none has. */
  finishedContents(file: string): string | undefined {
    return this.#finished.get(file);
  }

  /** Forgets what has finished for a file that has other contents now: programs may read those before a hook tells them. */
  forget(file: string): void {
    if (this.#finished.delete(file)) this.#write();
  }

  /** Records that the hook has finished. When that cannot be written, it runs once more after the next start. */
  finish(file: string, contents: string): void {
    this.#finished.set(file, contents);
    this.#write();
  }

  #write(): void {
    const file = this.#file;
    try {
      writePrivateFile(file, `${JSON.stringify(Object.fromEntries(this.#finished), undefined, 2)}\n`);
    } catch (error) {
      this.#log.warn({ file }, `cannot record which hooks have finished: ${messageOf(error)}`);
    }
  }
}

/** A file that is not there, is damaged or cannot be read remembers nothing: hooks may run once more than needed. */
function readMemory(file: string): Map<string, string> {
  try {
    const remembered = Object.entries(parseJsonObject(readPrivateFile(file) ?? "") ?? {});
    return new Map(remembered.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
  } catch {
    return new Map();
  }
}
