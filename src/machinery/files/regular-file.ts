import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import type { Stats } from "node:fs";

export interface RegularFile {
  readonly contents: Buffer;
  readonly status: Stats;
}

/**
 * Reads what is in a place where others may have put anything. Undefined unless it is a file: opening a pipe could wait for
 * ever, and so could reading a device. Throws the system's error when there is nothing, or it cannot be read.
 */
export function readRegularFile(file: string): RegularFile | undefined {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const status = fstatSync(descriptor);
    return status.isFile() ? { contents: readFileSync(descriptor), status } : undefined;
  } finally {
    closeSync(descriptor);
  }
}
