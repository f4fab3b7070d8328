import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { splitLines } from "../../../../src/machinery/api/bytes/split-lines.ts";

suite("Lines of bytes that come in parts", () => {
  test("a line may begin in one part and end in a later one, and a part may hold several", async () => {
    assert.deepEqual(await linesOf(["a", "b\nc\n", "", "\nd", "e\n"]), ["ab", "c", "", "de"]);
  });

  test("the last line says that it was cut off", async () => {
    assert.deepEqual(await linesOf(["a\nb", "c"]), ["a", "bc…"]);
  });

  test("no bytes are no line", async () => {
    assert.deepEqual(await linesOf([]), []);
    assert.deepEqual(await linesOf([""]), []);
  });

  test("a character that two parts share is whole", async () => {
    const bytes = Buffer.from("é\n");
    assert.deepEqual(await linesOf([bytes.subarray(0, 1), bytes.subarray(1)]), ["é"]);
  });

  test("a line that does not end is refused once more than the maximum of it is held", async () => {
    assert.deepEqual(await linesOf(["1234", "\n"], { maximumBytes: 4 }), ["1234"]);
    await assert.rejects(linesOf(["1\n123", "45", "\n"], { maximumBytes: 4 }), /^Error: too long$/);
  });
});

/** An ellipsis follows a line that was cut off. */
async function linesOf(
  parts: readonly (string | Uint8Array)[],
  { maximumBytes = 100 }: { readonly maximumBytes?: number } = {},
): Promise<string[]> {
  const lines: string[] = [];
  for await (const { bytes, isWhole } of splitLines(bytesOf(parts), {
    maximumBytes,
    tooLong: () => new Error("too long"),
  })) {
    lines.push(bytes.toString("utf8") + (isWhole ? "" : "…"));
  }
  return lines;
}

async function* bytesOf(parts: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part);
}
