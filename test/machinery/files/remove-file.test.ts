import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import { removeFile } from "../../../src/machinery/files/remove-file.ts";
import { fileFailureReason } from "../../../src/machinery/files/unusable-file.ts";

function folderFor(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "signet-remove-"));
  context.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

describe("removing a file", () => {
  it("removes a link and not its target, and needs none to be there", (context) => {
    const folder = folderFor(context);
    writeFileSync(join(folder, "target"), "");
    symlinkSync("target", join(folder, "link"));
    for (const name of ["link", "missing"]) removeFile(join(folder, name));
    assert.ok(!existsSync(join(folder, "link")));
    assert.ok(existsSync(join(folder, "target")));
  });

  it("fails with what the system says, which names what to do", (context) => {
    const folder = folderFor(context);
    writeFileSync(join(folder, "file"), "");
    for (const path of [folder, join(folder, "file", "below")]) {
      assert.throws(
        () => removeFile(path),
        (error) => /; (?:name|run as) /.test(fileFailureReason(error)),
      );
    }
  });
});
