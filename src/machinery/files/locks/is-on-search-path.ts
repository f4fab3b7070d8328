import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Whether the search path contains a program. Without PATH, the default path of the C library is searched. */
export const isOnSearchPath = (program: string): boolean =>
  (process.env["PATH"] ?? "/bin:/usr/bin").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
