import assert from "node:assert/strict";
import fs, { existsSync, statSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { makeFolder } from "../../../../src/machinery/files/folders/make-folder.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

test("a folder and its parents get their mode whatever the umask is, which stays as it was", (context) => {
  const root = temporaryFolder();
  const umask = process.umask(0o022);
  context.after(() => process.umask(umask));
  for (const mask of [0o000, 0o077, 0o777]) {
    process.umask(mask);
    const folder = join(root, String(mask), "below");
    makeFolder(folder, { mode: 0o755 });
    for (const made of [folder, dirname(folder)]) assert.equal(statSync(made).mode & 0o7777, 0o755);
    assert.equal(process.umask(mask), mask);
  }
});

test("no folder named ~ is made for a path that no shell has seen", () => {
  const root = temporaryFolder();
  for (const path of ["~", "~/x", "settings/~/x"]) {
    assert.throws(() => makeFolder(join(root, path), { mode: 0o755 }), /only a shell replaces ~.*write the whole path/);
  }
  assert.ok(!existsSync(join(root, "~")) && !existsSync(join(root, "settings")));
});

test("a folder and its parents survive a power cut: the entry of each new one is flushed", (context) => {
  const root = temporaryFolder();
  context.after(() => {
    context.mock.restoreAll();
    syncBuiltinESMExports();
  });
  const opened = new Map<number, string>();
  const flushed: (string | undefined)[] = [];
  const { openSync, fsyncSync } = fs;
  context.mock.method(fs, "openSync", (path: string, flags: string): number => {
    const descriptor = openSync(path, flags);
    opened.set(descriptor, path);
    return descriptor;
  });
  context.mock.method(fs, "fsyncSync", (descriptor: number): void => {
    flushed.push(opened.get(descriptor));
    fsyncSync(descriptor);
  });
  syncBuiltinESMExports();
  makeFolder(join(root, "new", "below"), { mode: 0o700 });
  assert.deepEqual(flushed, [root, join(root, "new")]);
  makeFolder(join(root, "new", "below"), { mode: 0o700 });
  assert.equal(flushed.length, 2);
});
