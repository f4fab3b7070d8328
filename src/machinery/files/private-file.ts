import { readFileSync } from "node:fs";
import { errorCode } from "../api/thrown-error.ts";
import { isOpenToOthers } from "./is-open-to-others.ts";
import { withOpenFile } from "./open-file.ts";
import type { OpenFile } from "./open-file.ts";
import { UnusableFile } from "./unusable-file.ts";
import { modeText } from "./mode-text.ts";

/** A file with keys has a few KB, so a larger file is something else. */
const largestMebibytes = 16;

/**
 * Reads a private key, or a file that contains one, as strictly as ssh. Throws UnusableFile when other users may read or write the file,
 * when it belongs to another user (except root), or when it is not a regular file of at most 16 MiB. Undefined when it does not exist.
 */
export function readPrivateFile(file: string): string | undefined {
  try {
    return withOpenFile(file, (opened) => privateText(file, opened));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

function privateText(file: string, { descriptor, status }: OpenFile): string {
  if (!status.isFile() || status.size > largestMebibytes * 2 ** 20) {
    const expected = `a file of at most ${largestMebibytes} MiB`;
    throw new UnusableFile(`${file} is not ${expected}; name one that holds the key, or remove what is there`);
  }
  const user = process.getuid?.();
  if (user === undefined) return readFileSync(descriptor, "utf8"); // Windows has no file modes
  if (status.uid !== user && status.uid !== 0) {
    throw new UnusableFile(`${file} belongs to another user (uid ${status.uid}); chown it, or name another`);
  }
  if (isOpenToOthers(file, status)) {
    throw new UnusableFile(
      `${file} is open to other users (mode ${modeText(status.mode)}); chmod 600 it; if others may have read it, replace what is in it (docs/break-in.md)`,
    );
  }
  return readFileSync(descriptor, "utf8");
}
