import { statSync } from "node:fs";

/** The store's path now has another file than the one that this process has open. Nothing was written. */
class FileReplaced extends Error {
  override readonly name = "FileReplaced";
}

/**
 * Detects that files which this process has open were removed, replaced or moved. The system would let the process continue with the old
 * files: its writes to them are lost when it ends, and its locks on them do not stop a process that opens the new files.
 */
export class FilesInPlace {
  readonly #opened: readonly { readonly file: string; readonly identity: string }[];

  /** Throws when a file does not exist. */
  constructor(files: readonly string[]) {
    this.#opened = files.map((file) => ({ file, identity: identityOf(file) ?? missing(file) }));
  }

  /** Throws FileReplaced when a path does not have the opened file any more. */
  check(): void {
    for (const { file, identity } of this.#opened) {
      if (identityOf(file) !== identity) {
        throw new FileReplaced(
          `${file} was removed or replaced while it is in use; stop all processes that use it, put back what was moved, and start again`,
        );
      }
    }
  }
}

function identityOf(file: string): string | undefined {
  const status = statSync(file, { throwIfNoEntry: false });
  return status && `${status.dev}:${status.ino}`;
}

function missing(file: string): never {
  throw new FileReplaced(`${file} was removed while it is opened`);
}
