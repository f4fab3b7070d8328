import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { berToDer } from "../../../src/pki/der/ber.ts";
import { encodeElement, encodeSequence, encodeSmallInteger } from "../../../src/pki/der/der-writer.ts";
import { PkiError } from "../../../src/pki/pki-error.ts";

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(" ", ""), "hex");

describe("berToDer", () => {
  it("leaves DER as it is", () => {
    const der = encodeSequence(encodeSmallInteger(7), encodeSequence(encodeElement(0x04, Buffer.alloc(300))));
    assert.deepEqual(berToDer(der), der);
  });

  it("rewrites indefinite and long lengths, constructed strings and booleans", () => {
    assert.deepEqual(
      berToDer(hex("30 80 01 01 01 24 80 04 01 61 04 81 01 62 00 00 00 00")),
      hex("30 07 01 01 ff 04 02 61 62"),
    );
  });

  it("keeps FALSE, and an empty value before the end of a list", () => {
    assert.deepEqual(berToDer(hex("30 80 01 01 00 05 00 02 01 00 00 00")), hex("30 08 01 01 00 05 00 02 01 00"));
  });

  it("refuses what is not BER", () => {
    for (const text of [
      "30", // no length
      "04 80 00 00", // a primitive value without an end
      "1f 81 01 00", // a tag of several octets
      "00 01 00", // the tag of an end, with content
      "04 05 00", // shorter than it says
      "04 82 01", // a length that is cut off
      "04 87 00 00 00 00 00 00 01 00", // a length of seven octets
      "30 80 04 01 00", // no end
      "30 03 30 80 00 00", // an end outside of the value that it ends
      "24 04 04 00 0c 00", // a string of pieces of two types
    ]) {
      assert.throws(() => berToDer(hex(text)), PkiError, text);
    }
  });

  it("refuses nesting deeper than any certificate, with lengths and without", () => {
    const withLengths = (depth: number): Buffer =>
      depth === 0 ? Buffer.alloc(0) : encodeSequence(withLengths(depth - 1));
    const withoutLengths = (depth: number): Buffer => hex("3080".repeat(depth) + "0000".repeat(depth));
    for (const nested of [withLengths, withoutLengths]) {
      assert.deepEqual(berToDer(nested(33)), withLengths(33));
      assert.throws(() => berToDer(nested(34)), PkiError);
    }
    assert.throws(() => berToDer(Buffer.from("3080".repeat(100_000), "hex")), PkiError);
  });

  it("refuses more values than the certificates of a block have", () => {
    const values = (count: number): Buffer => hex("05 00".repeat(count));
    assert.deepEqual(berToDer(values(10_000)), values(10_000));
    assert.throws(() => berToDer(values(10_001)), PkiError);
    assert.throws(() => berToDer(encodeSequence(values(10_000))), PkiError);
  });

  it("throws nothing but PkiError, whatever the octets", () => {
    const octet = fc.oneof(fc.constantFrom(0x30, 0x80, 0x00, 0x24, 0x04, 0x01, 0x81), fc.nat({ max: 255 }));
    fc.assert(
      fc.property(fc.array(octet, { maxLength: 60 }), (octets) => {
        try {
          berToDer(Buffer.from(octets));
        } catch (error) {
          assert.ok(error instanceof PkiError);
        }
      }),
      { numRuns: 3000 },
    );
  });
});
