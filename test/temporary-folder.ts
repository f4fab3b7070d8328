import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterWhatRuns } from "./after-what-runs.ts";

/** The path of a new folder, which is removed at the end of the current test or suite (also from its hooks), or of the file. */
export function temporaryFolder(): string {
  const path = mkdtempSync(join(tmpdir(), "signet-test-"));
  afterWhatRuns(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
