import { accessSync, constants } from "node:fs";
import { dirname } from "node:path";
import { checkReplaceable, writePrivateFile, writePublicFile } from "../files/atomic-file.ts";
import { fileFailureReason, UnusableFile } from "../files/unusable-file.ts";
import { UsageError } from "./flag.ts";

/** A file that a flag names for what a command makes. */
export interface OutputFile {
  /** Of the flag, such as `output-file`. */
  readonly flag: string;
  readonly file: string;
}

/** The file of a flag that may be left away, looked at by `checkOutputFile`. */
export function outputFile(flag: string, file: string | undefined): OutputFile | undefined {
  if (file === undefined) return undefined;
  checkOutputFile({ flag, file });
  return { flag, file };
}

/**
 * Throws UsageError when nothing can be written there: before the server is asked for what would then be lost. A name of
 * `-` is refused, since it means standard output elsewhere.
 */
export function checkOutputFile({ flag, file }: OutputFile): void {
  if (file === "-") throw new UsageError(`--${flag}: - is no file name; write ./- for a file of that name`);
  explain({ flag, file }, () => {
    checkReplaceable(file);
    accessSync(dirname(file), constants.W_OK | constants.X_OK);
  });
}

/** Writes what holds a private key or a token (0600), in place of whatever file was there. Throws UsageError. */
export const writePrivateOutput = (output: OutputFile, contents: string): void =>
  explain(output, () => writePrivateFile(output.file, contents));

/** Writes what everybody may read, in place of whatever file was there. Throws UsageError. */
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
