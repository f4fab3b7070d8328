import { rmSync } from "node:fs";

/**
 * Removes the remains of a failure: a file, or a folder with everything in it. Never throws, because the error of the failure already says
 * what is wrong: a disk that refuses a write may also refuse the removal.
 */
export function removeIfPossible(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // The file or folder stays.
  }
}
