const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Decodes a header value as UTF-8, as Go does. In HTTP/1.1 and HTTP/2, Node.js delivers header values as octets, one
 * character each. Undefined when the octets are not UTF-8.
 */
export function headerText(octets: string): string | undefined {
  if (isAscii(octets)) return octets;
  try {
    return decoder.decode(Buffer.from(octets, "latin1"));
  } catch {
    return undefined;
  }
}

/** Encodes text as the octets of a header value. The inverse of `headerText`. */
export const headerOctets = (text: string): string =>
  isAscii(text) ? text : Buffer.from(text, "utf8").toString("latin1");

const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text);
