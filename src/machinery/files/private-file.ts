import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { UnusableFile } from "./unusable-file.ts";

/**
 * Reads a private key, or what holds one, as ssh does: throws UnusableFile when other users may read or write it, when it is
 * another user's (root's aside), or when it is no file. Undefined when nothing is there.
 */
export function readPrivateFile(file: string): string | undefined {
  const descriptor = openIfThere(file);
  if (descriptor === undefined) return undefined;
  try {
    // Of what is open, so that nobody can exchange it between the look and the reading.
    const status = fstatSync(descriptor);
    if (!status.isFile()) throw new UnusableFile(`${file} is no file; name one that holds the key`);
    const user = process.getuid?.();
    if (user === undefined) return readFileSync(descriptor, "utf8"); // Windows: no modes
    if (status.uid !== user && status.uid !== 0) {
      throw new UnusableFile(`${file} belongs to another user (uid ${status.uid}); chown it, or name another`);
    }
    if ((status.mode & 0o077) !== 0) {
      const mode = (status.mode & 0o777).toString(8).padStart(4, "0");
      throw new UnusableFile(`${file} is open to other users (mode ${mode}); chmod 600 it, or make a new key`);
    }
    return readFileSync(descriptor, "utf8");
  } finally {
    closeSync(descriptor);
  }
}

function openIfThere(file: string): number | undefined {
  const { O_RDONLY, O_NONBLOCK } = constants; // a pipe without a writer would never open
  try {
    return openSync(file, O_RDONLY | O_NONBLOCK);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
