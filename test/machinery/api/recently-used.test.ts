import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RecentlyUsed } from "../../../src/machinery/api/recently-used.ts";

interface Text {
  readonly text: string;
}

const keysIn = (kept: RecentlyUsed<Text>, keys: string): string =>
  Array.from(keys)
    .filter((key) => kept.get(key) !== undefined)
    .join("");

describe("a memory of recently used values", () => {
  it("drops the least recently used one beyond its number", () => {
    const kept = new RecentlyUsed<Text>({ maximumEntries: 2 });
    for (const key of "ab") kept.set(key, { text: key });
    assert.deepEqual(kept.get("a"), { text: "a" });
    kept.set("c", { text: "c" });
    assert.equal(keysIn(kept, "abc"), "ac");
  });

  it("drops as many as make room for the weight of a new one", () => {
    const kept = new RecentlyUsed<Text>({ maximumEntries: 9, maximumWeight: 10, weightOf: ({ text }) => text.length });
    for (const key of "abc") kept.set(key, { text: "123" });
    kept.set("d", { text: "123456" });
    assert.equal(keysIn(kept, "abcd"), "cd");
  });

  it("does not keep a value that alone is too heavy, and drops no other for it", () => {
    const kept = new RecentlyUsed<Text>({ maximumEntries: 9, maximumWeight: 4, weightOf: ({ text }) => text.length });
    kept.set("a", { text: "1234" });
    kept.set("b", { text: "12345" });
    assert.equal(keysIn(kept, "ab"), "a");
  });

  it("counts no more weight for what was replaced or deleted", () => {
    const kept = new RecentlyUsed<Text>({ maximumEntries: 9, maximumWeight: 4, weightOf: ({ text }) => text.length });
    for (const text of ["12", "1", "123"]) kept.set("a", { text });
    kept.delete("a");
    for (const key of "bcde") kept.set(key, { text: "1" });
    assert.equal(keysIn(kept, "abcde"), "bcde");
  });

  it("shows its values without using them", () => {
    const values = new RecentlyUsed<string>({ maximumEntries: 2 });
    values.set("a", "first");
    values.set("b", "second");
    assert.deepEqual([...values.values()], ["first", "second"]);
    values.set("c", "third");
    assert.deepEqual([...values.values()], ["second", "third"]);
  });

  it("tells which values it drops for its limits, and not which are replaced or deleted", () => {
    const dropped: string[] = [];
    const values = new RecentlyUsed<string>({ maximumEntries: 2, onDropped: (value) => void dropped.push(value) });
    values.set("a", "first");
    values.set("a", "second");
    values.set("b", "third");
    values.delete("b");
    values.set("c", "fourth");
    assert.deepEqual(dropped, []);
    values.set("d", "fifth");
    assert.deepEqual(dropped, ["second"]);
  });
});
