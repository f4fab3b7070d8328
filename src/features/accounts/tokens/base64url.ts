const alphabet = /^[A-Za-z0-9_-]*$/;

/**
 * Decodes base64url without padding (RFC 7515 section 2), only in its canonical form. White space, padding, other
 * characters and stray bits in the last character give undefined. With two spellings of one token, a list of revoked
 * tokens could be bypassed.
 */
export function decodeBase64url(text: string): Buffer | undefined {
  if (text.length % 4 === 1 || !alphabet.test(text)) return undefined;
  const bytes = Buffer.from(text, "base64url");
  return lastCharacterIsCanonical(text, bytes) ? bytes : undefined;
}

function lastCharacterIsCanonical(text: string, bytes: Buffer): boolean {
  if (text.length % 4 === 0) return true;
  const tail = bytes.subarray(bytes.length - (bytes.length % 3));
  return text.endsWith(tail.toString("base64url"));
}
