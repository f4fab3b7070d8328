import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Whether the search path has a program. Where there is no PATH, the one that the C library uses. */
export const isOnSearchPath = (program: string): boolean =>
  (process.env["PATH"] ?? "/bin:/usr/bin").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
