import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { chainWriters } from "../../../../src/machinery/audit/chain/chain-writers.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

describe("the writers of a chain", () => {
  const folder = temporaryFolder();

  it("are gone until one joins, and once all of them have left", () => {
    const [one, two, three] = [1, 2, 3].map(() => chainWriters(join(folder, "writers.lock")));
    assert.ok(one && two && three);
    assert.equal(one.areGone(), true);
    assert.equal(two.areGone(), true, "to ask is not to join");
    one.join();
    assert.equal(two.areGone(), false);
    two.join();
    one.leave();
    assert.equal(three.areGone(), false);
    two.leave();
    assert.equal(three.areGone(), true);
    three.leave();
  });
});
