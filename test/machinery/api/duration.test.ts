import assert from "node:assert/strict";
import { it } from "node:test";
import { parseDuration } from "../../../src/machinery/api/duration.ts";

it("a duration has Go's format, and may have days", () => {
  const hour = 3_600_000;
  const durations = { "0": 0, "250ms": 250, "90s": 90_000, "1h30m": 1.5 * hour, "1.5h": 1.5 * hour };
  for (const [text, milliseconds] of Object.entries(durations)) assert.equal(parseDuration(text), milliseconds, text);
  assert.equal(parseDuration("30d"), 30 * 24 * hour);
  assert.equal(parseDuration("1d12h"), 36 * hour);
});

it("an invalid duration, or one of more than a thousand years, is undefined", () => {
  for (const text of ["", "5", "d", "-1h", "1 h", "1w", "1h ", "5 minutes", "365001d", "9".repeat(400).concat("h")]) {
    assert.equal(parseDuration(text), undefined, text);
  }
});
