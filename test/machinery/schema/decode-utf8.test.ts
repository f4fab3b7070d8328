import assert from "node:assert/strict";
import { isUtf8 } from "node:buffer";
import { test } from "node:test";
import fc from "fast-check";
import { decodeUtf8 } from "../../../src/machinery/schema/decode-utf8.ts";

/** The same, a character at a time, with the runtime's own check. */
function slowTextOf(bytes: Buffer): string {
  let text = "";
  for (let at = 0; at < bytes.length;) {
    const length = [1, 2, 3, 4].find((one) => at + one <= bytes.length && isUtf8(bytes.subarray(at, at + one)));
    text += length === undefined ? "\ufffd" : bytes.toString("utf8", at, at + length);
    at += length ?? 1;
  }
  return text;
}

test("each byte that is not of a valid character becomes one replacement character", () => {
  const edges = [
    0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef,
    0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff,
  ];
  const piece = fc.oneof(
    fc.constantFrom(...edges).map((octet) => Buffer.of(octet)),
    fc.string({ unit: "binary" }).map((text) => Buffer.from(text)),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const bytes = Buffer.concat(pieces);
      assert.equal(decodeUtf8(bytes), slowTextOf(bytes));
    }),
    { numRuns: 2000 },
  );
});
