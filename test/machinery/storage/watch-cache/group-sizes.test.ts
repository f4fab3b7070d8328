import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GroupSizes } from "../../../../src/machinery/storage/watch-cache/group-sizes.ts";

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
    assert.equal(sizes.reservedFor({ group: "a", key: "a/1" }), 0);
  });

  it("contains the longest of several writes of one key until the last of them has ended", () => {
    const sizes = new GroupSizes();
    const long = sizes.reserve({ group: "a", key: "a/1", bytes: 10 });
    const short = sizes.reserve({ group: "a", key: "a/1", bytes: 1 });
    assert.deepEqual([sizes.of("a"), sizes.reservedFor({ group: "a", key: "a/1" })], [10, 10]);
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

  it("contains only its own writes of a key that others write too, until one is applied", () => {
    const sizes = new GroupSizes();
    const inA = sizes.reserve({ group: "a", key: "1", bytes: 10 });
    assert.equal(sizes.reservedFor({ group: "b", key: "1" }), 0);
    const inB = sizes.reserve({ group: "b", key: "1", bytes: 5 });
    assert.deepEqual([sizes.of("a"), sizes.of("b")], [10, 5]);
    sizes.release(inA);
    assert.deepEqual([...sizes.entries()], [["b", 5]]);
    const again = sizes.reserve({ group: "a", key: "1", bytes: 10 });
    sizes.settle("1");
    sizes.add("b", 5);
    sizes.release(inB);
    sizes.release(again);
    assert.deepEqual([...sizes.entries()], [["b", 5]]);
  });
});
