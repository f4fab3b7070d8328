import { createReadStream } from "node:fs";
import { boundedText } from "../client/bounded-text.ts";
import { unreadableFileReason } from "../files/unusable-file.ts";
import { announceTerminalInput } from "./announce-terminal-input.ts";
import { UsageError } from "./settings/flag.ts";

const largestMebibytes = 16;

interface InputFile {
  readonly flag: string;
  /** `-`: standard input. */
  readonly file: string;
  readonly standardInput?: AsyncIterable<Buffer>;
}

/** Reads what a flag names, once: a file, a pipe or standard input, of at most 16 MiB. Throws UsageError. */
export async function readInputFile({ flag, file, standardInput = process.stdin }: InputFile): Promise<string> {
  if (file === "-" && standardInput === process.stdin) announceTerminalInput(`--${flag}`);
  const source: AsyncIterable<Buffer> = file === "-" ? standardInput : createReadStream(file);
  const text = await boundedText(source, largestMebibytes * 2 ** 20).catch((cause: unknown) => {
    throw new UsageError(`--${flag}: cannot read ${file}: ${unreadableFileReason(cause)}`, { cause });
  });
  if (text === undefined) {
    throw new UsageError(`--${flag}: ${file} is longer than ${largestMebibytes} MiB; name a smaller one`);
  }
  return text.replace(/^\uFEFF/, ""); // the byte order mark that Windows writes
}
