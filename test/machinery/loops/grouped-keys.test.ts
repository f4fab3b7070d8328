import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GroupedKeys } from "../../../src/machinery/loops/grouped-keys.ts";

describe("keys in groups", () => {
  it("are found by their group until they are deleted, and a group ends with its last key", () => {
    const keys = new GroupedKeys();
    for (const [group, key] of [
      ["a", "1"],
      ["b", "1"],
      ["a", "2"],
      ["a", "1"],
    ] as const) {
      keys.add(group, key);
    }
    assert.deepEqual([[...keys.of("a")], [...keys.of("b")], [...keys.of("c")]], [["1", "2"], ["1"], []]);
    keys.delete("a", "1");
    keys.delete("b", "1");
    keys.delete("c", "1");
    assert.deepEqual([[...keys.of("a")], keys.has("a"), keys.has("b"), keys.has("c")], [["2"], true, false, false]);
  });

  it("come in an iteration that continues while they are added", () => {
    const keys = new GroupedKeys();
    keys.add("a", "1");
    const seen = [];
    for (const key of keys.of("a")) {
      seen.push(key);
      keys.add("a", "2");
    }
    assert.deepEqual(seen, ["1", "2"]);
  });
});
