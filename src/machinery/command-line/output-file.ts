import { accessSync, constants } from "node:fs";
import { dirname } from "node:path";
import { checkReplaceable, writePrivateFile, writePublicFile } from "../files/atomic-file.ts";
import { fileFailureReason, UnusableFile } from "../files/unusable-file.ts";
import { UsageError } from "./flag.ts";

/** A file that a flag names for a command's output. */
export interface OutputFile {
  /** The flag's name, such as `output-file`. */
  readonly flag: string;
  readonly file: string;
}

/** The file of an optional flag, after `checkOutputFile`. */
export function outputFile(flag: string, file: string | undefined): OutputFile | undefined {
  if (file === undefined) return undefined;
  checkOutputFile({ flag, file });
  return { flag, file };
}

/**
 * Throws UsageError when the file cannot be written. Call it before the request to the server, whose result would
 * otherwise be lost. Refuses the name `-`, because other tools use it for standard output.
 */
export function checkOutputFile({ flag, file }: OutputFile): void {
  if (file === "-") throw new UsageError(`--${flag}: - is not a file name; write ./- for a file of that name`);
  explain({ flag, file }, () => {
    checkReplaceable(file);
    accessSync(dirname(file), constants.W_OK | constants.X_OK);
  });
}

/** Writes a private key or a token (0600) and replaces an existing file. Throws UsageError. */
export const writePrivateOutput = (output: OutputFile, contents: string): void =>
  explain(output, () => writePrivateFile(output.file, contents));

/** Writes public data and replaces an existing file. Throws UsageError. */
export const writePublicOutput = (output: OutputFile, contents: string): void =>
  explain(output, () => writePublicFile(output.file, contents));

function explain({ flag, file }: OutputFile, act: () => void): void {
  try {
    act();
  } catch (cause) {
    if (cause instanceof UnusableFile) throw new UsageError(`--${flag}: ${cause.message}`, { cause });
    throw new UsageError(`--${flag}: cannot write ${file}: ${fileFailureReason(cause)}`, { cause });
  }
}
