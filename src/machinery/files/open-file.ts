import { closeSync, constants, fstatSync, openSync } from "node:fs";
import type { Stats } from "node:fs";

export interface OpenFile {
  readonly descriptor: number;
  /** The status of what is open. It cannot be replaced between a check and the reading. */
  readonly status: Stats;
}

/**
 * Opens what is in a place where others may have put anything, and closes it after `use`. Does not wait for the writer of a pipe, so
 * `use` must look whether it is a file. Throws the system's error when there is nothing, or it cannot be opened.
 */
export function withOpenFile<T>(file: string, use: (opened: OpenFile) => T): T {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return use({ descriptor, status: fstatSync(descriptor) });
  } finally {
    closeSync(descriptor);
  }
}
