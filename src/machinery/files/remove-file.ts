import { unlinkSync } from "node:fs";
import { errorCode } from "../api/thrown-error.ts";

/**
 * Removes a file, a link or a socket, if there is one. Throws the system's error, as for a folder. That of Node.js's `rmSync` may have no
 * code, and then nothing says what to do.
 */
export function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}
