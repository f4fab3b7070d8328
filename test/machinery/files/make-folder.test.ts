import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { makeFolder } from "../../../src/machinery/files/make-folder.ts";

test("a folder and its parents get their mode whatever the umask is, which stays as it was", (context) => {
  const root = mkdtempSync(join(tmpdir(), "signet-folder-"));
  const umask = process.umask(0o022);
  context.after(() => {
    process.umask(umask);
    rmSync(root, { recursive: true });
  });
  for (const mask of [0o000, 0o077, 0o777]) {
    process.umask(mask);
    const folder = join(root, String(mask), "below");
    makeFolder(folder, { mode: 0o755 });
    for (const made of [folder, dirname(folder)]) assert.equal(statSync(made).mode & 0o7777, 0o755);
    assert.equal(process.umask(mask), mask);
  }
});
