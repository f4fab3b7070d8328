/** A text without percent-escapes (RFC 3986 2.1). A text with escapes that are malformed, or not UTF-8, stays as it is. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
