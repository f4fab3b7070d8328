import { closeSync, constants, fstatSync, openSync } from "node:fs";
import type { Stats } from "node:fs";

export interface OpenFile {
  readonly descriptor: number;
  /** The status of the open file, which cannot be replaced between a check and the reading. */
  readonly status: Stats;
}

/**
 * Opens a path at which other users may have put anything, and closes it after `use`. Does not wait for the writer of a pipe, so `use` must
 * check that it is a file. Throws the system's error if the path does not exist or cannot be opened.
 */
export function withOpenFile<T>(file: string, use: (opened: OpenFile) => T): T {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return use({ descriptor, status: fstatSync(descriptor) });
  } finally {
    closeSync(descriptor);
  }
}
