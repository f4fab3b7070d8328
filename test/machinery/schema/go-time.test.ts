import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { normalizeMicroTime, normalizeTime, parseMicroTime, parseTime } from "../../../src/machinery/schema/go-time.ts";
import { TypeMismatch } from "../../../src/machinery/schema/decode-faults.ts";

const moments = fc.date({ min: new Date("0001-01-02"), max: new Date("9999-12-30"), noInvalidDate: true });

test("a time in any zone becomes the same moment in UTC and whole seconds", () => {
  fc.assert(
    fc.property(moments, fc.integer({ min: -840, max: 840 }), (moment, offsetMinutes) => {
      const local = new Date(moment.getTime() + offsetMinutes * 60_000).toISOString().slice(0, -1);
      fc.pre(/^\d{4}-/.test(local));
      const minutes = Math.abs(offsetMinutes);
      const zone = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, "0")).join(":");
      const expected = `${moment.toISOString().slice(0, 19)}Z`;
      assert.equal(normalizeTime(`${local}${offsetMinutes < 0 ? "-" : "+"}${zone}`), expected);
      assert.equal(normalizeTime(expected), expected);
    }),
  );
});

test("a time in UTC is the same point in time with Z as with an offset of nothing", () => {
  fc.assert(
    fc.property(moments, fc.integer({ min: 0, max: 999_999 }), (moment, microseconds) => {
      const second = moment.toISOString().slice(0, 19);
      assert.deepEqual(parseTime(`${second}Z`), parseTime(`${second}+00:00`));
      const micro = `${second}.${String(microseconds).padStart(6, "0")}`;
      assert.deepEqual(parseMicroTime(`${micro}Z`), parseMicroTime(`${micro}+00:00`));
      assert.equal(normalizeMicroTime(`${micro}Z`), `${micro}Z`);
      assert.equal(normalizeMicroTime(`${micro}+00:00`), `${micro}Z`);
    }),
  );
});

test("a day that its month does not have is out of range", () => {
  for (const day of ["2026-02-29", "1900-02-29", "2026-02-30", "2026-04-31", "2026-11-31", "2026-01-32"]) {
    assert.throws(() => normalizeTime(`${day}T00:00:00Z`), {
      message: `parsing time "${day}T00:00:00Z": day out of range`,
    });
  }
  for (const day of ["2024-02-29", "2000-02-29", "2026-01-31", "2026-04-30"]) {
    assert.equal(normalizeTime(`${day}T00:00:00Z`), `${day}T00:00:00Z`);
  }
});

test("the message for a time that is none quotes it as Go does, byte by byte", () => {
  const layout = "2006-01-02T15:04:05Z07:00";
  for (const [text, quoted] of [
    ["\u0000", String.raw`"\x00"`],
    ["é", String.raw`"\xc3\xa9"`],
    ['a"\\', String.raw`"a\"\\"`],
    ["\n\ud800~é\u007f", String.raw`"\x0a\xef\xbf\xbd~\xc3\xa9` + '\u007f"'],
  ] as const) {
    assert.throws(() => normalizeTime(text), {
      message: `parsing time ${quoted} as "${layout}": cannot parse ${quoted} as "2006"`,
    });
  }
});

test("the message for a long text that is no time shows only its beginning", () => {
  const quoted = `"${String.raw`\xc3\xa9`.repeat(4096)}"... (1000000 characters)`;
  assert.throws(() => normalizeTime("é".repeat(1_000_000)), {
    message: `parsing time ${quoted} as "2006-01-02T15:04:05Z07:00": cannot parse ${quoted} as "2006"`,
  });
});

test("Go's zero time is decoded as no time", () => {
  assert.equal(normalizeTime("0001-01-01T00:00:00Z"), null);
  assert.equal(normalizeMicroTime("0001-01-01T00:00:00.000000Z"), null);
});

test("a time whose UTC year does not have four digits is refused", () => {
  for (const text of ["9999-12-31T23:59:59-10:00", "0000-06-01T00:00:00Z", "0001-01-01T00:00:00+01:00"]) {
    assert.throws(() => normalizeTime(text), TypeMismatch);
  }
});
