import fs from "node:fs";
import type { Stats } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import type { TestContext } from "node:test";

/** Shows all open files as ones of this mode until the test ends, whatever mode they are given: as file systems without modes do. */
export function showAllFilesAs(context: TestContext, mode: number): { mode: number } {
  const shown = { mode };
  const { fstatSync } = fs;
  context.mock.method(fs, "fstatSync", (descriptor: number): Stats => {
    const status = fstatSync(descriptor);
    status.mode = (status.mode & ~0o7777) | shown.mode;
    return status;
  });
  syncBuiltinESMExports();
  context.after(() => {
    context.mock.restoreAll();
    syncBuiltinESMExports();
  });
  return shown;
}
