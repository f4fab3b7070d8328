import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { parametersOf, withReadableEscapes } from "../../../src/machinery/registry/query-values.ts";

const queries = fc
  .array(fc.constantFrom("a", "=", "&", "+", "%", "%41", "%c3%a9", "%C3", "%ff", "%zz", "%0", "?", "~"), {
    maxLength: 12,
  })
  .map((parts) => parts.join(""));

describe("the parameters of a query", () => {
  it("are those of URLSearchParams, whatever the escapes", () =>
    fc.assert(
      fc.property(queries, (query) => {
        const expected = new URLSearchParams(query);
        const parameters = parametersOf(query);
        assert.deepEqual([...parameters.keys()], [...expected.keys()]);
        for (const name of expected.keys()) assert.deepEqual(parameters.getAll(name), expected.getAll(name));
      }),
      { numRuns: 5000 },
    ));

  it("are read from escapes that can all be decoded: an error for each that cannot would take a hundred times as long", () =>
    fc.assert(
      fc.property(queries, (query) => {
        const readable = withReadableEscapes(query);
        assert.doesNotThrow(() => decodeURIComponent(readable));
        if (!/%/.test(query)) assert.equal(readable, query);
      }),
      { numRuns: 5000 },
    ));
});
