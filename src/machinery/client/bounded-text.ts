/** A shorter part counts as so many bytes, because each part takes time and memory. */
const leastPartBytes = 64;

/** How many bytes of a body's limit a part uses. */
export const countedBytes = (part: Uint8Array): number => Math.max(part.length, leastPartBytes);

/**
 * Reads a body as text. Undefined: it has more than `largestBytes`. Each part counts as at least 64 bytes, because a megabyte in parts of
 * one byte would take gigabytes of memory, and block the process.
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
