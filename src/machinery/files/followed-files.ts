import { statSync } from "node:fs";

export interface FollowedFilesOptions<T> {
  readonly files: readonly string[];
  /** Reads them; what it throws at the start is thrown, and later leaves the last good value in place. */
  readonly load: () => T;
  /** Told once of each state of the files that could not be read. */
  readonly onFailure?: (error: unknown) => void;
}

/**
 * What files say, as they are now: the returned function reads them again when they have changed. While they cannot be
 * read, or do not fit each other because one of them is being replaced, the last value that could is used.
 */
export function followFiles<T>({ files, load, onFailure }: FollowedFilesOptions<T>): () => T {
  const version = (): string => files.map(fileVersion).join();
  // The version comes first: a change while the files are read is then seen at the next look.
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

/** What could not be read is tried again after this long, though the files did not change: descriptors were short, say. */
const retryMilliseconds = 10_000;

/** Changes with the file, and with its rights: times alone do not tell a file from another one that was copied over it with its times. */
function fileVersion(file: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(file);
    return `${ino}/${size}/${mtimeMs}/${ctimeMs}`;
  } catch (error) {
    // Absent, or in a folder that may not be looked into: reading it says so.
    return error instanceof Error && "code" in error ? String(error.code) : "unknown";
  }
}
