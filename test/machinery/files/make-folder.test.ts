import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
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

test("no folder named ~ is made for a path that no shell has seen", (context) => {
  const root = mkdtempSync(join(tmpdir(), "signet-folder-"));
  context.after(() => rmSync(root, { recursive: true }));
  for (const path of ["~", "~/x", "settings/~/x"]) {
    assert.throws(() => makeFolder(join(root, path), { mode: 0o755 }), /only a shell replaces ~.*write the whole path/);
  }
  assert.ok(!existsSync(join(root, "~")) && !existsSync(join(root, "settings")));
});
