import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { array, assert as check, constantFrom, property, string } from "fast-check";
import { matchesPath, PathPatterns } from "../../../../src/features/access/rbac/path-patterns.ts";

describe("patterns of paths", () => {
  it("find a path below a prefix as trying each of them does", () => {
    const text = string({ unit: constantFrom("/", "a", "b", "*"), maxLength: 6 });
    check(
      property(array(text, { maxLength: 8 }), text, (patterns, path) => {
        const found = new PathPatterns();
        for (const pattern of patterns) found.add(pattern);
        assert.equal(
          found.covers(path),
          patterns.some((pattern) => matchesPath(pattern, path)),
        );
      }),
      { numRuns: 5000 },
    );
  });
});
