import { statSync } from "node:fs";

/** A file of the store is not the one any more that this process has open. Nothing was written. */
class FileReplaced extends Error {
  override readonly name = "FileReplaced";
}

/**
 * Sees when files that this process has open are removed, replaced or moved. The system lets it go on with the old ones: what it
 * writes to them is lost with its end, and locks on them keep nobody out who opens the new ones.
 */
export class FilesInPlace {
  readonly #opened: readonly { readonly file: string; readonly identity: string }[];

  /** Throws when one is not there. */
  constructor(files: readonly string[]) {
    this.#opened = files.map((file) => ({ file, identity: identityOf(file) ?? missing(file) }));
  }

  /** Throws FileReplaced. */
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
