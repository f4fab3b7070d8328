import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";

/** Runs a program that ends with code 3 while a timer keeps it alive. Returns its code, its signal and its output. */
function run(before: string): readonly [number | null, string | null, string] {
  const program = `
    import { endProcess } from ${JSON.stringify(import.meta.resolve("../../src/machinery/end-process.ts"))};
    setInterval(() => {}, 1000);
    process.once("exit", (code) => process.stdout.write("listener " + code));
    ${before}
    endProcess(3);
    process.stdout.write("went on");
  `;
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
    encoding: "utf8",
    timeout: 60_000,
  });
  return [status, signal, stdout + stderr];
}

describe("the end of a process", () => {
  it("has the code, and calls the listeners of exit once, without waiting for the threads of V8", () => {
    const neverEnds = "process.reallyExit = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);";
    assert.deepEqual(run(neverEnds), [3, null, "listener 3"]);
  });

  it("is that of process.exit where no shell can take its place", () => {
    for (const none of ["process.execve = undefined;", "process.execve = () => { throw new Error('no'); };"])
      assert.deepEqual(run(none), [3, null, "listener 3"]);
  });
});
