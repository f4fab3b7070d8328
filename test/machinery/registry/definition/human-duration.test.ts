import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ageOf, humanDuration } from "../../../../src/machinery/registry/definition/human-duration.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

describe("a duration for people", () => {
  const table: readonly (readonly [number, string])[] = [
    [-3 * second, "<invalid>"],
    [-1 * second, "0s"],
    [-500, "0s"],
    [0, "0s"],
    [119 * second, "119s"],
    [120 * second, "2m"],
    [150 * second, "2m30s"],
    [10 * minute, "10m"],
    [179 * minute, "179m"],
    [180 * minute, "3h"],
    [181 * minute, "3h1m"],
    [8 * hour, "8h"],
    [47 * hour, "47h"],
    [48 * hour, "2d"],
    [49 * hour, "2d1h"],
    [8 * day, "8d"],
    [729 * day, "729d"],
    [730 * day, "2y"],
    [731 * day, "2y1d"],
    [8 * 365 * day, "8y"],
    [9 * 365 * day + day, "9y"],
  ];
  for (const [milliseconds, text] of table) {
    it(`of ${milliseconds} ms reads ${text}`, () => assert.equal(humanDuration(milliseconds), text));
  }

  it("since an unknown time reads <unknown>", () => {
    assert.equal(ageOf(undefined, 0), "<unknown>");
    assert.equal(ageOf("1970-01-01T00:00:01Z", 61 * second), "60s");
  });
});
