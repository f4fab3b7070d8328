import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RecentlyParsed } from "../../src/pki/recently-parsed.ts";

describe("RecentlyParsed", () => {
  it("remembers the last short texts", () => {
    const recent = new RecentlyParsed<{ readonly of: string }>(2);
    for (const text of ["first", "second", "third"]) recent.add(text, { of: text });
    assert.deepEqual(
      ["first", "second", "third"].map((text) => recent.get(text)?.of),
      [undefined, "second", "third"],
    );
  });

  it("remembers the last long text, and no other one", () => {
    const recent = new RecentlyParsed<{ readonly of: string }>(2);
    const [first, second] = ["a".repeat(10_000), "b".repeat(10_000)];
    recent.add("short", { of: "short" });
    recent.add(first, { of: "first" });
    assert.equal(recent.get(first)?.of, "first");
    recent.add(second, { of: "second" });
    assert.equal(recent.get(first), undefined);
    // Another string with the same text.
    assert.equal(recent.get(Buffer.from(second).toString())?.of, "second");
    assert.equal(recent.get("short")?.of, "short", "long texts take no place of short ones");
  });
});
