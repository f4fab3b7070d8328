import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fileFailureReason } from "../../../src/machinery/files/unusable-file.ts";

const refusal = (code: string, message: string): Error => Object.assign(new Error(`${code}: ${message}`), { code });

describe("the reason why the system refused a file", () => {
  it("says what to do about a file that is mounted by itself, which no other can replace", () => {
    const error = refusal("EBUSY", "resource busy or locked, rename '/web/a.pem.0123456789ab.new' -> '/web/a.pem'");
    assert.match(fileFailureReason(error), /mounted by itself, .*; mount its folder/);
  });

  it("says what to do about a file system that lacks what is needed", () => {
    const error = refusal("ENOSYS", "function not implemented, symlink 'a' -> '/stick/a.0123456789ab.new'");
    assert.match(fileFailureReason(error), /file system cannot do that; name a place on another/);
  });

  it("is the same each time: it does not name the temporary file that was to be renamed", () => {
    for (const [text, reason] of [
      ["stale file handle, rename '/web/a.pem.0123456789ab.new' -> '/web/a.pem'", "stale file handle"],
      ["stale file handle, open '/it's, open 'here'", "stale file handle"],
      ["stale file handle, fsync", "stale file handle, fsync"],
    ] as const)
      assert.equal(fileFailureReason(refusal("ESTALE", text)), `ESTALE: ${reason}`);
  });

  it("says that a file may be immutable when the system refuses even its owner", () => {
    const error = refusal("EPERM", "operation not permitted, rename '/web/a.pem.0123456789ab.new' -> '/web/a.pem'");
    assert.match(fileFailureReason(error), /, or it is immutable \(lsattr\); /);
  });
});
