import { accessSync, closeSync, constants, openSync, readSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { systemClock } from "../../api/clock.ts";
import { checkReplaceable, writeNewPrivateFile, writePrivateFile, writePublicFile } from "../../files/atomic-file.ts";
import { removeAbandoned } from "../../files/unfinished-files.ts";
import { fileFailureReason, UnusableFile } from "../../files/unusable-file.ts";
import { CommandFailure } from "../command-failure.ts";
import { UsageError } from "../settings/flag.ts";

/** A file that a flag or an argument names for a command's output. */
export interface OutputFile {
  /** The flag or argument that names the file, as in the help: `--output-file`, `FILE`. */
  readonly namedBy: string;
  readonly file: string;
  /** Whether the command writes a private key there, and may therefore replace an existing key. */
  readonly isForKey?: boolean;
}

/** The file of an optional flag, after `checkOutputFile`. */
export function outputFile(namedBy: string, file: string | undefined): OutputFile | undefined {
  if (file === undefined) return undefined;
  checkOutputFile({ namedBy, file });
  return { namedBy, file };
}

/**
 * Throws CommandFailure when the file cannot be written. Call it before the request to the server, whose result would
 * otherwise be lost. Throws UsageError for the name `-`, because other tools use it for standard output, and for a file with
 * a private key in PEM, which may be the only copy. Keys in base64, as in kubeconfigs, may be replaced.
 */
export function checkOutputFile(output: OutputFile): void {
  const { namedBy, file } = output;
  if (file === "-") throw new UsageError(`${namedBy}: - is not a file name; write ./- for a file of that name`);
  explain(output, () => {
    if (file.endsWith("/")) throw new UnusableFile(`${file} is the name of a folder; name a file`);
    checkReplaceable(file);
    const folder = dirname(file);
    if (!statSync(folder).isDirectory()) throw new UnusableFile(`${folder} is a file, not a folder; name another`);
    accessSync(folder, constants.W_OK | constants.X_OK);
  });
  refuseToReplaceKey(output);
}

function refuseToReplaceKey(output: OutputFile): void {
  const { namedBy, file, isForKey = false } = output;
  if (isForKey || !explain(output, () => holdsPrivateKey(file))) return;
  throw new UsageError(`${namedBy}: ${file} holds a private key and is not replaced; name another file, or remove it`);
}

/** How much of a file is searched for a key. Even a long chain before the key is shorter. */
const searchedBytes = 2 ** 20;

function holdsPrivateKey(file: string): boolean {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return false;
  const descriptor = openSync(file, "r");
  try {
    const start = Buffer.alloc(searchedBytes);
    const text = start.toString("latin1", 0, readSync(descriptor, start, 0, searchedBytes, 0));
    return /^[ \t]*-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/m.test(text);
  } finally {
    closeSync(descriptor);
  }
}

/** Writes a private key or a token (0600) and replaces an existing file. Removes what killed writes left of it. Throws CommandFailure. */
export const writePrivateOutput = (output: OutputFile, contents: string | Uint8Array): void =>
  explain(output, () => {
    removeAbandoned(output.file, systemClock.now());
    writePrivateFile(output.file, contents);
  });

/** Writes a private key (0600) unless the file exists, and returns whether it was written. Throws CommandFailure. */
export const writeNewKeyOutput = (output: OutputFile, pem: string): boolean =>
  explain(output, () => {
    removeAbandoned(output.file, systemClock.now());
    return writeNewPrivateFile(output.file, pem);
  });

/**
 * Writes public data and replaces an existing file, unless it holds a private key. Removes what killed writes left of it. Throws
 * CommandFailure.
 */
export function writePublicOutput(output: OutputFile, contents: string): void {
  // Another flag of the command may have written the key just before.
  refuseToReplaceKey(output);
  explain(output, () => {
    removeAbandoned(output.file, systemClock.now());
    writePublicFile(output.file, contents);
  });
}

function explain<T>({ namedBy, file }: OutputFile, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    const reason = cause instanceof UnusableFile ? cause.message : `cannot write ${file}: ${fileFailureReason(cause)}`;
    throw new CommandFailure(`${namedBy}: ${reason}`, { exit: "unwritable", cause });
  }
}
