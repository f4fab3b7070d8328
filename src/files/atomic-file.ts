import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { dirname } from "node:path";

/**
 * Writes a whole file so that a reader, or a crash at any point, sees the old contents or the new ones and never a part:
 * a new file beside it, flushed, renamed over it, the folder flushed.
 */
export function writeFileAtomically(
  file: string,
  contents: string | Uint8Array,
  { mode }: { readonly mode: number },
): void {
  const temporary = `${file}.${randomBytes(6).toString("hex")}.new`;
  const descriptor = openSync(temporary, "wx", mode);
  try {
    writeSync(descriptor, typeof contents === "string" ? Buffer.from(contents, "utf8") : contents);
    fsyncSync(descriptor);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, file);
  flushFolder(dirname(file));
}

/** Makes renames in a folder last through a power cut. */
export function flushFolder(folder: string): void {
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** For keys, and what holds them: only the owner reads it. */
export const writePrivateFile = (file: string, contents: string | Uint8Array): void =>
  writeFileAtomically(file, contents, { mode: 0o600 });

export const writePublicFile = (file: string, contents: string | Uint8Array): void =>
  writeFileAtomically(file, contents, { mode: 0o644 });
