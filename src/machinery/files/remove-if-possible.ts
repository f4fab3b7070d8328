import { rmSync } from "node:fs";

/**
 * Removes what a failure has left: a file, or a folder with everything in it. Throws nothing, because the failure says what is wrong: a
 * disk that does not take a write may refuse the removal, too.
 */
export function removeIfPossible(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // It stays.
  }
}
