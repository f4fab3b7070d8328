import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { cpuSecondsOf } from "../cpu-seconds-of.ts";
import { decodeFirstPemBlock, decodePemBlocks, encodePem } from "../../src/pki/pem.ts";

const block = encodePem("CERTIFICATE", Buffer.from("hello"));
const types = (text: string): string[] => decodePemBlocks(text).map(({ type }) => type);

describe("decodePemBlocks", () => {
  it("reads what encodePem wrote", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 5 }), (contents) => {
        const text = contents.map((bytes) => encodePem("X", bytes)).join("between\n");
        assert.deepEqual(
          decodePemBlocks(text).map(({ bytes }) => [...bytes]),
          contents.map((bytes) => [...bytes]),
        );
      }),
    );
  });

  it("never throws, whatever the text", () => {
    const piece = fc.constantFrom(
      "-----BEGIN ",
      "-----END ",
      "A",
      "-----",
      "\n",
      "\r\n",
      " ",
      ":",
      "QUJD",
      "=",
      "\ufeff",
      "é",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        decodePemBlocks(pieces.join(""));
      }),
      { numRuns: 2000 },
    );
  });

  it("skips text before, between and after blocks", () => {
    assert.deepEqual(types(`before\n${block}between\n${block}after`), ["CERTIFICATE", "CERTIFICATE"]);
  });

  it("accepts CRLF, trailing blanks, one long line and a missing final line break", () => {
    const long = `-----BEGIN A-----\n${Buffer.alloc(300).toString("base64")}\n-----END A-----`;
    for (const text of [block.replaceAll("\n", "\r\n"), block.replaceAll("\n", " \t\n"), block.trimEnd(), long]) {
      assert.equal(decodePemBlocks(text).length, 1);
    }
  });

  it("reads headers", () => {
    const text = block.replace("-----\n", "-----\nComment: hello\nOther:x\n\n");
    assert.deepEqual(
      [...(decodeFirstPemBlock(text)?.headers ?? [])],
      [
        ["Comment", "hello"],
        ["Other", "x"],
      ],
    );
  });

  it("reads a hundred headers, and of a block with more no bytes, and nothing behind it", () => {
    const withHeaders = (count: number): string => block.replace("-----\n", `-----\n${"a: b\n".repeat(count)}\n`);
    assert.deepEqual(types(withHeaders(100)), ["CERTIFICATE"]);
    const [last, ...others] = decodePemBlocks(withHeaders(101) + block);
    assert.deepEqual([last?.type, last?.headers.size, last?.bytes.length, others], ["CERTIFICATE", 1, 0, []]);
  });

  it("accepts blanks between all digits, and between those that fill up", () => {
    const spread = "-----BEGIN A-----\nQ U\tI\r\n = \n-----END A-----\n";
    assert.equal(decodeFirstPemBlock(spread)?.bytes.toString(), "AB");
    assert.equal(decodeFirstPemBlock(spread.replace("I\r\n =", "= ="))?.bytes.toString("latin1"), "A");
  });

  it("treats a damaged block as text", () => {
    for (const digits of ["not base64!", "QUI", "QU-D", "QU=J", "Q===", "QU=", "QUJDR", "Q U\fI=", "Q\u00a0UI="]) {
      const damaged = `-----BEGIN CERTIFICATE-----\n${digits}\n-----END CERTIFICATE-----\n`;
      assert.deepEqual(types(damaged), [], digits);
      assert.deepEqual(types(damaged + block), ["CERTIFICATE"], digits);
    }
  });

  it("treats a block whose END line has another label as text", () => {
    assert.deepEqual(types(block.replace("END CERTIFICATE", "END OTHER")), []);
  });

  it("ignores a block that is indented or right behind a byte order mark", () => {
    assert.deepEqual(types(block.replaceAll(/^/gm, "  ")), []);
    assert.deepEqual(types(`\ufeff${block}`), []);
    assert.deepEqual(types(`\ufeff\n${block}`), ["CERTIFICATE"]);
  });

  it("passes over an END line before the first BEGIN", () => {
    assert.deepEqual(types(`\n-----END A-----\n${block}`), ["CERTIFICATE"]);
  });

  it("uses the last BEGIN before an END", () => {
    assert.deepEqual(types(`-----BEGIN A-----\n${block}`), ["CERTIFICATE"]);
  });

  it("decodes an empty block", () => {
    assert.equal(decodeFirstPemBlock("-----BEGIN A-----\n-----END A-----\n")?.bytes.length, 0);
  });

  it("needs linear time for thousands of blocks that never end", async () => {
    const seconds = await cpuSecondsOf(() => {
      assert.deepEqual(types("-----BEGIN A-----\n\n-----END B-----\n".repeat(10_000)), []);
      assert.deepEqual(types(`${"-----BEGIN A:-----\n-----END A:-----x:\n".repeat(10_000)}end`), []);
    });
    assert.ok(seconds < 2, `${seconds} seconds`);
  });
});
