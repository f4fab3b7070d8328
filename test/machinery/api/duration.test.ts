import assert from "node:assert/strict";
import { it } from "node:test";
import { durationFault, parseDuration } from "../../../src/machinery/api/duration.ts";

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

it("the fault of a duration of ages is that it is too long, and that of other texts that they are no duration", () => {
  for (const text of ["365001d", "99999999999h", "9".repeat(400).concat("h")]) {
    assert.equal(durationFault(text), "is too long: give a duration of 365000d at most", text);
  }
  for (const text of ["", "5", "-1h", "9".repeat(400)]) {
    assert.equal(durationFault(text), "is not a duration such as 90s, 10m, 24h or 30d", text);
  }
});
