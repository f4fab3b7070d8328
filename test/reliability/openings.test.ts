import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { temporaryDirectory } from "../machinery/storage/temporary-directory.ts";
import { runOpenings } from "./openings-run.ts";

describe("a store that other processes open and close", () => {
  it("loses nothing that is written meanwhile", async () => {
    const directory = temporaryDirectory();
    try {
      const { written, losses } = await runOpenings({ directory: directory.path, processes: 2, times: 40 });
      assert.deepEqual(losses, []);
      assert.ok(written > 0);
    } finally {
      directory.remove();
    }
  });
});
