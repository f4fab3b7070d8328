import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GroupSizes } from "../../../src/machinery/storage/group-sizes.ts";

describe("the size of a group", () => {
  it("contains a write that has begun, and contains it once when it is applied before it ends", () => {
    const sizes = new GroupSizes();
    const write = sizes.reserve({ group: "a", key: "a/1", bytes: 10 });
    assert.equal(sizes.of("a"), 10);
    sizes.settle("a/1");
    sizes.add("a", 10);
    assert.equal(sizes.of("a"), 10);
    sizes.release(write);
    assert.equal(sizes.of("a"), 10);
  });

  it("contains nothing of a write that failed", () => {
    const sizes = new GroupSizes();
    sizes.release(sizes.reserve({ group: "a", key: "a/1", bytes: 10 }));
    assert.deepEqual([...sizes.entries()], []);
    assert.equal(sizes.reservedFor("a/1"), 0);
  });

  it("contains the longest of several writes of one key until the last of them has ended", () => {
    const sizes = new GroupSizes();
    const long = sizes.reserve({ group: "a", key: "a/1", bytes: 10 });
    const short = sizes.reserve({ group: "a", key: "a/1", bytes: 1 });
    assert.deepEqual([sizes.of("a"), sizes.reservedFor("a/1")], [10, 10]);
    sizes.release(long);
    assert.equal(sizes.of("a"), 10);
    sizes.release(short);
    assert.equal(sizes.of("a"), 0);
  });

  it("keeps what a later write of a key reserves when an earlier one that was applied ends", () => {
    const sizes = new GroupSizes();
    const first = sizes.reserve({ group: "a", key: "a/1", bytes: 10 });
    sizes.settle("a/1");
    sizes.add("a", 10);
    const second = sizes.reserve({ group: "a", key: "a/1", bytes: 5 });
    sizes.release(first);
    assert.equal(sizes.of("a"), 15);
    sizes.release(second);
    assert.equal(sizes.of("a"), 10);
  });
});
