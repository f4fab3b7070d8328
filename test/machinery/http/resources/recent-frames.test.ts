import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RecentFrames } from "../../../../src/machinery/http/resources/recent-frames.ts";

const frame = (length: number): { readonly bytes: Buffer; readonly second: number } => ({
  bytes: Buffer.alloc(length),
  second: 0,
});

describe("the recent frames of watches", () => {
  it("drop those of the oldest object beyond a number of objects", () => {
    const recent = new RecentFrames({ maximumObjects: 2, maximumBytes: 100 });
    const toys = [{}, {}, {}];
    for (const toy of toys) for (const name of ["a", "b"]) recent.add(toy, { name, frame: frame(1) });
    assert.deepEqual(
      toys.map((toy) => recent.of(toy)?.size),
      [undefined, 2, 2],
    );
  });

  it("drop those of the oldest objects beyond a number of bytes, of which a replaced frame takes none", () => {
    const recent = new RecentFrames({ maximumObjects: 9, maximumBytes: 100 });
    const [bear, wolf] = [{}, {}];
    for (const length of [50, 60]) recent.add(bear, { name: "a", frame: frame(length) });
    recent.add(wolf, { name: "a", frame: frame(40) });
    assert.equal(recent.of(bear)?.get("a")?.bytes.length, 60);
    recent.add(wolf, { name: "b", frame: frame(1) });
    assert.equal(recent.of(bear), undefined);
    assert.equal(recent.of(wolf)?.size, 2);
  });
});
