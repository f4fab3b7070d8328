import { unlinkSync } from "node:fs";
import { errorCode } from "../api/thrown-error.ts";

/**
 * Removes a file, a link or a socket, if it exists. Throws the system's error, for instance for a folder. Errors of Node.js's `rmSync` may
 * lack the code that messages need to say what to do.
 */
export function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}
