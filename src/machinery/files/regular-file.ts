import { readFileSync } from "node:fs";
import type { Stats } from "node:fs";
import { withOpenFile } from "./open-file.ts";

export interface RegularFile {
  readonly contents: Buffer;
  readonly status: Stats;
}

/**
 * Reads a path at which other users may have put anything. Undefined unless it is a file of at most so many bytes, because opening a pipe,
 * or reading a device, could last for ever. Throws the system's error if the path does not exist or cannot be read.
 */
export const readRegularFile = (
  file: string,
  { largestBytes }: { readonly largestBytes: number },
): RegularFile | undefined =>
  withOpenFile(file, ({ descriptor, status }) =>
    status.isFile() && status.size <= largestBytes ? { contents: readFileSync(descriptor), status } : undefined,
  );
