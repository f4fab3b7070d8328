/** The value of a Warning header for a sentence: code 299, no agent (RFC 7234 section 5.5). */
export const warningValue = (text: string): string => `299 - ${quoted(text)}`;

/** A quoted-string of RFC 9110: control characters become spaces, other characters go as their UTF-8 bytes. */
function quoted(text: string): string {
  const escaped = text.replace(/\p{Cc}/gu, " ").replace(/["\\]/g, "\\$&");
  return `"${Buffer.from(escaped, "utf8").toString("latin1")}"`;
}
