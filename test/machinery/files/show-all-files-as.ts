import fs from "node:fs";
import type { Stats } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import type { TestContext } from "node:test";

/**
 * Shows all open files as ones of this mode and owner until the test ends, whatever they are given: as file systems without modes do.
 * As some of them, it has nothing to show of a file that was removed.
 */
export function showAllFilesAs(context: TestContext, mode: number): { mode: number; uid: number | undefined } {
  const shown = { mode, uid: process.geteuid?.() };
  const { fstatSync } = fs;
  context.mock.method(fs, "fstatSync", (descriptor: number): Stats => {
    const status = fstatSync(descriptor);
    if (status.nlink === 0)
      throw Object.assign(new Error("ENOENT: no such file or directory, fstat"), { code: "ENOENT" });
    status.mode = (status.mode & ~0o7777) | shown.mode;
    status.uid = shown.uid ?? status.uid;
    return status;
  });
  syncBuiltinESMExports();
  context.after(() => {
    context.mock.restoreAll();
    syncBuiltinESMExports();
  });
  return shown;
}
