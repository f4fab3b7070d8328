import { readFileSync } from "node:fs";
import type { Stats } from "node:fs";
import { withOpenFile } from "./open-file.ts";

export interface RegularFile {
  readonly contents: Buffer;
  readonly status: Stats;
}

/**
 * Reads what is in a place where others may have put anything. Undefined unless it is a file of at most so many bytes: opening a
 * pipe could wait for ever, and so could reading a device. Throws the system's error when there is nothing, or it cannot be read.
 */
export const readRegularFile = (
  file: string,
  { largestBytes }: { readonly largestBytes: number },
): RegularFile | undefined =>
  withOpenFile(file, ({ descriptor, status }) =>
    status.isFile() && status.size <= largestBytes ? { contents: readFileSync(descriptor), status } : undefined,
  );
