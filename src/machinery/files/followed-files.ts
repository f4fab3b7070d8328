import { statSync } from "node:fs";

export interface FollowedFilesOptions<T> {
  readonly files: readonly string[];
  /** Reads the files. An exception at the start is thrown to the caller; later, the last good value stays in use. */
  readonly load: () => T;
  /** Called once for each version of the files that could not be read. */
  readonly onFailure?: (error: unknown) => void;
}

/**
 * Returns a function that returns the current content of files. It reads them again when they have changed. While they
 * cannot be read, or do not match each other because one is just being replaced, the last good value is used.
 */
export function followFiles<T>({ files, load, onFailure }: FollowedFilesOptions<T>): () => T {
  const version = (): string => files.map(fileVersion).join();
  // Take the version first: a change during the read is then noticed at the next check.
  let seen = version();
  let value = load();
  let failed: { readonly version: string; readonly at: number } | undefined;
  return () => {
    const now = version();
    if (now === seen) return value;
    if (now === failed?.version && performance.now() - failed.at < retryMilliseconds) return value;
    try {
      value = load();
      seen = now;
      failed = undefined;
    } catch (error) {
      if (now !== failed?.version) onFailure?.(error);
      failed = { version: now, at: performance.now() };
    }
    return value;
  };
}

/**
 * After a failed read, try again after this time even if the files did not change: the process may have been short of
 * descriptors.
 */
const retryMilliseconds = 10_000;

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
    return error instanceof Error && "code" in error ? String(error.code) : "unknown";
  }
}
