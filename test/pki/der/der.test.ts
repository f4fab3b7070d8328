import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { readTime, DerReader } from "../../../src/pki/der/der.ts";
import {
  encodeElement,
  encodeObjectIdentifier,
  encodeSetOf,
  encodeSmallInteger,
  encodeTime,
} from "../../../src/pki/der/der-writer.ts";
import { PkiError } from "../../../src/pki/pki-error.ts";

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(" ", ""), "hex");
const reading = (text: string) => () => new DerReader(hex(text)).readElement();

describe("DerReader", () => {
  it("reads what the writer wrote", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70_000, size: "max" }), (content) => {
        const element = new DerReader(encodeElement(0x04, content)).readElement();
        assert.ok(element.content.equals(content));
      }),
      { numRuns: 50 },
    );
    fc.assert(
      fc.property(fc.nat(), (value) => {
        assert.equal(new DerReader(encodeSmallInteger(value)).readSmallInteger(), value);
      }),
    );
    const arc = fc.nat({ max: 0x7fff_ffff - 80 });
    fc.assert(
      fc.property(fc.nat({ max: 39 }), fc.array(arc, { maxLength: 8 }), (second, rest) => {
        const dotted = ["1", second, ...rest].join(".");
        assert.equal(new DerReader(encodeObjectIdentifier(dotted)).readObjectIdentifier(), dotted);
      }),
    );
  });

  it("throws nothing but PkiError, whatever the octets", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (octets) => {
        for (const read of [
          (reader: DerReader) => reader.readElement(),
          (reader: DerReader) => reader.readSmallInteger(),
          (reader: DerReader) => reader.readObjectIdentifier(),
          (reader: DerReader) => reader.readBitString(),
          (reader: DerReader) => reader.readBoolean(),
          readTime,
        ]) {
          try {
            read(new DerReader(Buffer.from(octets)));
          } catch (error) {
            assert.ok(error instanceof PkiError);
          }
        }
      }),
      { numRuns: 3000 },
    );
  });

  it("refuses BER that is not DER", () => {
    assert.throws(reading("30 80 00 00"), /indefinite length/);
    assert.throws(reading("04 81 01 00"), /non-minimal length/);
    assert.throws(reading("04 82 00 01 00"), /superfluous leading zeros/);
    assert.throws(reading("1f 81 01 00"), /high tag number/);
    for (const boolean of ["01 01 01", "01 02 ff ff", "01 00"]) {
      assert.throws(() => new DerReader(hex(boolean)).readBoolean(), /invalid boolean/, boolean);
    }
    assert.deepEqual(
      ["01 01 00", "01 01 ff"].map((boolean) => new DerReader(hex(boolean)).readBoolean()),
      [false, true],
    );
    assert.throws(() => new DerReader(hex("02 02 00 01")).readInteger(), /not minimally-encoded/);
    for (const integer of ["02 02 00 01", "02 02 ff 80", "02 00"]) {
      assert.throws(() => new DerReader(hex(integer)).readSmallInteger(), /not minimally-encoded|empty integer/);
    }
    for (const bits of ["03 02 01 01", "03 02 08 00", "03 01 01"]) {
      assert.throws(() => new DerReader(hex(bits)).readBitString(), /padding bits/);
    }
    assert.throws(() => new DerReader(hex("03 00")).readBitString(), /zero length BIT STRING/);
  });

  it("refuses lengths beyond the input and beyond reason", () => {
    assert.throws(reading("04 02 00"), /data truncated/);
    assert.throws(reading("04 84 7f ff ff ff"), /length too large/);
    for (const octets of ["04", "04 82 01"]) assert.throws(reading(octets), /truncated tag or length/);
    assert.throws(reading(""), /sequence truncated/);
    const readingInteger = (bytes: string) => () => new DerReader(hex(bytes)).readSmallInteger();
    assert.equal(readingInteger("02 08 7f ff ff ff ff ff ff ff")(), 2 ** 63);
    assert.equal(readingInteger("02 07 80 00 00 00 00 00 00")(), -(2 ** 55));
    assert.throws(readingInteger("02 09 01 00 00 00 00 00 00 00 00"), /integer too large/);
  });

  it("refuses object identifiers that are malformed, or have arcs or a length beyond reason", () => {
    const readingId = (content: string) => () =>
      new DerReader(Buffer.concat([Buffer.of(6, hex(content).length), hex(content)])).readObjectIdentifier();
    assert.throws(readingId(""), /zero length OBJECT IDENTIFIER/);
    assert.throws(readingId("2a 80 01"), /not minimally encoded/);
    assert.throws(readingId("2a 88 80 80 80 00"), /base 128 integer too large/);
    assert.throws(readingId("2a 81"), /truncated base 128 integer/);
    assert.throws(readingId("01 ".repeat(65)), /OBJECT IDENTIFIER too long/);
    assert.equal(readingId("2a 87 ff ff ff 7f")(), "1.2.2147483647");
    assert.equal(readingId("01 ".repeat(64))().split(".").length, 65);
  });
});

describe("encodeSetOf", () => {
  it("sorts according to DER", () => {
    const [low, high] = [encodeSmallInteger(1), encodeSmallInteger(2)];
    assert.deepEqual(encodeSetOf([high, low]), encodeSetOf([low, high]));
  });
});

describe("encodeTime and readTime", () => {
  it("agree on every second from 1950 to 9999", () => {
    const seconds = fc.integer({ min: Date.UTC(1950, 0, 1) / 1000, max: Date.UTC(9999, 11, 31) / 1000 });
    fc.assert(
      fc.property(seconds, (second) => {
        assert.equal(readTime(new DerReader(encodeTime(second * 1000))), second * 1000);
      }),
    );
  });

  const read = (tag: number, text: string): number => readTime(new DerReader(encodeElement(tag, Buffer.from(text))));

  it("take two digits of a year as 1950 to 2049, and seconds of a UTCTime as 0 when they are left out", () => {
    assert.equal(read(0x17, "500101000000Z"), Date.UTC(1950, 0, 1));
    assert.equal(read(0x17, "491231235959Z"), Date.UTC(2049, 11, 31, 23, 59, 59));
    assert.equal(read(0x17, "2601020304Z"), Date.UTC(2026, 0, 2, 3, 4));
  });

  it("read offsets of less than a day, as Go does", () => {
    assert.equal(read(0x17, "260101000000+0130"), Date.UTC(2025, 11, 31, 22, 30));
    assert.equal(read(0x18, "20260101000000-2359"), Date.UTC(2026, 0, 1, 23, 59));
    for (const offset of ["+2400", "+0060", "-0000"]) {
      assert.throws(() => read(0x18, `20260101000000${offset}`), /malformed GeneralizedTime/);
    }
  });

  it("refuse invalid dates", () => {
    for (const date of ["260230000000", "260100000000", "261301000000", "260001000000", "270229000000"]) {
      assert.throws(() => read(0x17, `${date}Z`), /malformed UTCTime/, date);
    }
    for (const time of ["240000", "006000", "000060"]) {
      assert.throws(() => read(0x17, `260101${time}Z`), /malformed UTCTime/, time);
      assert.throws(() => read(0x18, `20260101${time}Z`), /malformed GeneralizedTime/, time);
    }
    assert.throws(() => read(0x17, "260101000000+0000"), /malformed UTCTime/);
    assert.equal(read(0x17, "280229235959Z"), Date.UTC(2028, 1, 29, 23, 59, 59));
    assert.equal(read(0x18, "00500101000000Z"), new Date("0050-01-01T00:00:00Z").getTime());
  });
});
