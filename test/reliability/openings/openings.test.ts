import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { temporaryFolder } from "../../temporary-folder.ts";
import { runOpenings } from "./openings-run.ts";

describe("a store that other processes open and close", () => {
  it("loses nothing that is written meanwhile", async () => {
    const { written, losses } = await runOpenings({ directory: temporaryFolder(), processes: 2, times: 40 });
    assert.deepEqual(losses, []);
    assert.ok(written > 0);
  });
});
