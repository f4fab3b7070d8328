import { removeFile } from "./remove-file.ts";

/**
 * Removes a file or a link, the remains of a failure. Never throws, because the error of the failure already says what is wrong: a disk that
 * refuses a write may also refuse the removal. Removes no folder: the owner of a shared folder may have put one there, and could let links in
 * it lead the removal elsewhere.
 */
export function removeIfPossible(path: string): void {
  try {
    removeFile(path);
  } catch {
    // It stays.
  }
}
