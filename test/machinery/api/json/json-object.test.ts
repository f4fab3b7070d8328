import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJsonObject } from "../../../../src/machinery/api/json/json-object.ts";

test("only a text that holds an object in JSON is parsed", () => {
  assert.deepEqual(parseJsonObject('{"a": [1]}'), { a: [1] });
  for (const text of ["", "{", "[1]", "null", '"a"', "1"]) {
    assert.equal(parseJsonObject(text), undefined, text);
  }
});
