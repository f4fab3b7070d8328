import { ByteAccumulator } from "./byte-accumulator.ts";

export interface Line {
  /** Without the line break. */
  readonly bytes: Buffer;
  /** False: the bytes ended before the line did. Only the last line can be cut off. */
  readonly isWhole: boolean;
}

const newline = 0x0a;

/**
 * Splits bytes that come in parts into lines, in their order. The parts must not change any more. Throws `tooLong` once it holds more
 * than `maximumBytes` of a line that does not end, and what `source` throws.
 */
export async function* splitLines(
  source: AsyncIterable<Uint8Array>,
  { maximumBytes, tooLong }: { readonly maximumBytes: number; readonly tooLong: () => Error },
): AsyncGenerator<Line> {
  const begun = new ByteAccumulator();
  for await (const part of source) {
    const bytes = Buffer.from(part.buffer, part.byteOffset, part.length);
    let begin = 0;
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, begin)) {
      begun.add(bytes.subarray(begin, end));
      begin = end + 1;
      yield { bytes: begun.take(), isWhole: true };
    }
    if (begin < bytes.length) begun.add(bytes.subarray(begin));
    if (begun.length > maximumBytes) throw tooLong();
  }
  if (begun.length > 0) yield { bytes: begun.take(), isWhole: false };
}
