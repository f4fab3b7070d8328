import assert from "node:assert/strict";
import { existsSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { removeFile } from "../../../src/machinery/files/remove-file.ts";
import { fileFailureReason } from "../../../src/machinery/files/unusable-file.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

describe("removing a file", () => {
  it("removes a link and not its target, and needs none to be there", () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "target"), "");
    symlinkSync("target", join(folder, "link"));
    for (const name of ["link", "missing"]) removeFile(join(folder, name));
    assert.ok(!existsSync(join(folder, "link")));
    assert.ok(existsSync(join(folder, "target")));
  });

  it("fails with what the system says, which names what to do", () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "file"), "");
    for (const path of [folder, join(folder, "file", "below")]) {
      assert.throws(
        () => removeFile(path),
        (error) => /; (?:name|run as) /.test(fileFailureReason(error)),
      );
    }
  });
});
