import { createReadStream } from "node:fs";
import { unreadableFileReason } from "../files/unusable-file.ts";
import { UsageError } from "./flag.ts";

const largestMebibytes = 16;

interface InputFile {
  readonly flag: string;
  /** `-`: standard input. */
  readonly file: string;
  readonly standardInput?: AsyncIterable<Buffer>;
}

/** Reads what a flag names, once: a file, a pipe or standard input, of at most 16 MiB. Throws UsageError. */
export async function readInputFile({ flag, file, standardInput = process.stdin }: InputFile): Promise<string> {
  const source: AsyncIterable<Buffer> = file === "-" ? standardInput : createReadStream(file);
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of source) {
      parts.push(part);
      length += part.length;
      if (length > largestMebibytes * 2 ** 20) {
        throw new UsageError(`--${flag}: ${file} is longer than ${largestMebibytes} MiB; name a smaller one`);
      }
    }
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    throw new UsageError(`--${flag}: cannot read ${file}: ${unreadableFileReason(cause)}`, { cause });
  }
  return new TextDecoder().decode(Buffer.concat(parts)); // without the byte order mark that Windows writes
}
