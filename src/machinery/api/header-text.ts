const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The text of a header's value, which Node.js gives as octets, a character for each, in both versions of HTTP: UTF-8, as Go
 * reads them. Undefined when they are no UTF-8.
 */
export function headerText(octets: string): string | undefined {
  if (!/[^\0-\x7f]/.test(octets)) return octets;
  try {
    return decoder.decode(Buffer.from(octets, "latin1"));
  } catch {
    return undefined;
  }
}

/** Text as the octets of a header's value: what `headerText` reads. */
export const headerOctets = (text: string): string => Buffer.from(text, "utf8").toString("latin1");
