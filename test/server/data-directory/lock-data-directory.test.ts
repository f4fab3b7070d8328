import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { lockForRestore } from "../../../src/server/data-directory/lock-data-directory.ts";
import { failAtCall } from "../../machinery/files/fail-at-call.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

it("a restore that cannot lock its folder, as on a full disk, leaves what was there", () => {
  const folder = temporaryFolder();
  const missing = join(folder, "missing");
  for (const call of [1, 2, 3]) {
    assert.throws(() => failAtCall(call, () => void lockForRestore(missing)), { name: "UsageError" });
    assert.equal(existsSync(missing), false);
  }
  const empty = join(folder, "empty");
  mkdirSync(empty, { mode: 0o700 });
  for (const call of [1, 2]) {
    assert.throws(() => failAtCall(call, () => void lockForRestore(empty)), { name: "UsageError" });
    assert.deepEqual(readdirSync(empty), []);
  }
});
