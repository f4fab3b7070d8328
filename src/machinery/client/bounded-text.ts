/** What a part takes of time and memory, however few bytes it brings. */
const leastPartBytes = 64;

/** The bytes that a part counts for where a body has a bound. */
export const countedBytes = (part: Uint8Array): number => Math.max(part.length, leastPartBytes);

/**
 * Reads a body as text. Undefined: it has more than `largestBytes`, where each part counts as 64 bytes at least. A megabyte in parts of
 * one byte would otherwise take gigabytes, and keep everything else waiting.
 */
export async function boundedText(body: AsyncIterable<Uint8Array>, largestBytes: number): Promise<string | undefined> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += countedBytes(part);
    if (bytes > largestBytes) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}
