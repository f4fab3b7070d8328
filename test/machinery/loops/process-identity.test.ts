import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { hasProcessEnded, processIdentity } from "../../../src/machinery/loops/process-identity.ts";

/** The identity that a process of this machine with another number would have. */
const withNumber = (pid: number): string => processIdentity().replace(`_${process.pid}_`, `_${pid}_`);

describe("a process that is named by its identity", { skip: process.platform !== "linux" }, () => {
  const ended = spawnSync("true").pid;

  it("has ended when it ran on this machine and its number is in use no more", () => {
    assert.ok(hasProcessEnded(withNumber(ended)));
  });

  it("may still run when its number is in use, when it ran elsewhere, and when its name does not say where it ran", () => {
    const elsewhere = withNumber(ended).replace(/_[0-9a-f]{12}_/, `_${"0".repeat(12)}_`);
    const unknown = withNumber(ended).replace(/_[0-9a-f]{12}_/, "_unknown_");
    // The first process belongs to another user, unless root runs the tests.
    for (const identity of [
      processIdentity(),
      withNumber(process.ppid),
      withNumber(1),
      elsewhere,
      unknown,
      "another-program",
    ])
      assert.ok(!hasProcessEnded(identity), identity);
  });
});
