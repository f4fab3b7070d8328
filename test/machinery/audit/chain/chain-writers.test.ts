import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { chainWriters } from "../../../../src/machinery/audit/chain/chain-writers.ts";

describe("the writers of a chain", () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-chain-writers-"));
  after(() => rmSync(folder, { recursive: true, force: true }));

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
