import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseJsonObject } from "../../machinery/api/json/json-object.ts";
import { messageOf } from "../../machinery/api/thrown-error.ts";
import { writePrivateFile } from "../../machinery/files/atomic-file.ts";
import { readPrivateFile } from "../../machinery/files/private-file.ts";
import type { Log } from "../../machinery/logging/log.ts";

/** Records for which contents of each file a hook has finished. It is stored in the data directory, so it survives a restart. */
export class HookMemory {
  readonly #file: string;
  readonly #log: Log;
  readonly #finished: Map<string, string>;

  constructor(dataDirectory: string, log: Log) {
    this.#file = join(dataDirectory, "hooks.json");
    this.#log = log;
    this.#finished = readMemory(this.#file);
  }

  /** The digest of the contents and the hook that have finished for a file. Undefined: no hook has finished. */
  finishedContents(file: string): string | undefined {
    return this.#finished.get(file);
  }

  /** Forgets the record of a file whose contents have changed: programs may read the new contents before a hook tells them. */
  forget(file: string): void {
    if (this.#finished.delete(file)) this.#write();
  }

  /** Records that the hook has finished. When the record cannot be written, the hook runs once more after the next start. */
  finish(file: string, contents: string): void {
    this.#finished.set(file, contents);
    this.#write();
  }

  #write(): void {
    const file = this.#file;
    try {
      writePrivateFile(file, `${JSON.stringify(Object.fromEntries(this.#finished), undefined, 2)}\n`);
    } catch (error) {
      const isFolder = existsSync(`${file}/`);
      const reason = isFolder ? `${file} is a folder: remove it` : messageOf(error);
      this.#log.warn({ file }, `cannot record which hooks have finished: ${reason}`);
    }
  }
}

/** Reads the record. A file that is missing, damaged or unreadable is an empty record: hooks may run once more than needed. */
function readMemory(file: string): Map<string, string> {
  try {
    const remembered = Object.entries(parseJsonObject(readPrivateFile(file) ?? "") ?? {});
    return new Map(remembered.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
  } catch {
    return new Map();
  }
}
