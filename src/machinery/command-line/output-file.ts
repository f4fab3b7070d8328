import { accessSync, constants, statSync } from "node:fs";
import { dirname } from "node:path";
import { checkReplaceable, writePrivateFile, writePublicFile } from "../files/atomic-file.ts";
import { fileFailureReason, UnusableFile } from "../files/unusable-file.ts";
import { CommandFailure } from "./command-failure.ts";
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
 * Throws CommandFailure when the file cannot be written. Call it before the request to the server, whose result would
 * otherwise be lost. Refuses the name `-` (UsageError), because other tools use it for standard output.
 */
export function checkOutputFile({ flag, file }: OutputFile): void {
  if (file === "-") throw new UsageError(`--${flag}: - is not a file name; write ./- for a file of that name`);
  explain({ flag, file }, () => {
    checkReplaceable(file);
    const folder = dirname(file);
    if (!statSync(folder).isDirectory()) throw new UnusableFile(`${folder} is a file, not a folder; name another`);
    accessSync(folder, constants.W_OK | constants.X_OK);
  });
}

/** Writes a private key or a token (0600) and replaces an existing file. Throws CommandFailure. */
export const writePrivateOutput = (output: OutputFile, contents: string | Uint8Array): void =>
  explain(output, () => writePrivateFile(output.file, contents));

/** Writes public data and replaces an existing file. Throws CommandFailure. */
export const writePublicOutput = (output: OutputFile, contents: string): void =>
  explain(output, () => writePublicFile(output.file, contents));

function explain({ flag, file }: OutputFile, act: () => void): void {
  try {
    act();
  } catch (cause) {
    const reason = cause instanceof UnusableFile ? cause.message : `cannot write ${file}: ${fileFailureReason(cause)}`;
    throw new CommandFailure(`--${flag}: ${reason}`, { exit: "unwritable", cause });
  }
}
