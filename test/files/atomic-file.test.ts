import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { writePrivateFile, writePublicFile } from "../../src/files/atomic-file.ts";

test("a file is replaced as a whole, keeps its mode and leaves nothing beside it", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "atomic-file-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "key");
  writePrivateFile(file, "one");
  writePrivateFile(file, "two");
  assert.equal(readFileSync(file, "utf8"), "two");
  assert.equal(statSync(file).mode & 0o777, 0o600);
  writePublicFile(file, "three");
  assert.equal(statSync(file).mode & 0o777, 0o644);
  assert.deepEqual(readdirSync(folder), ["key"]);
});

test("a write that can't be made throws and leaves the old file", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "atomic-file-"));
  context.after(() => rmSync(folder, { recursive: true }));
  assert.throws(() => writePrivateFile(join(folder, "missing", "key"), "one"), { code: "ENOENT" });
});
