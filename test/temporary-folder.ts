import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

/** The path of a new folder, which is removed after the test or suite that calls this. Not for hooks: a hook ends before its tests. */
export function temporaryFolder(): string {
  const path = mkdtempSync(join(tmpdir(), "signet-test-"));
  after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
