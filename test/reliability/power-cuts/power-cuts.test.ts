import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { temporaryFolder } from "../../temporary-folder.ts";
import { runPowerCuts } from "./power-cut-run.ts";

const skip = spawnSync("strace", ["--output=/dev/null", "true"]).status !== 0 && "strace does not work here";

describe("a store after a power cut", { skip }, () => {
  const cutPower = ({ ignoresFlushes }: { readonly ignoresFlushes: boolean }) =>
    runPowerCuts({ directory: temporaryFolder(), rounds: 10, seed: 3, stepsPerCut: 3, ignoresFlushes });

  it("has every acknowledged write, whichever sectors the disk wrote since its last flush", async () => {
    const { acknowledged, cuts, losses } = await cutPower({ ignoresFlushes: false });
    assert.deepEqual(losses, []);
    assert.ok(acknowledged > 10 && cuts > 10, `${acknowledged} writes, ${cuts} cuts`);
  });

  it("is found damaged where the disk ignores flushes", async () => {
    const { losses } = await cutPower({ ignoresFlushes: true });
    assert.ok(losses.length > 0);
  });
});
