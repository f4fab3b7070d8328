/**
 * Control characters, and characters that change the direction of a line. Text from other people must not control the
 * terminal that shows it.
 */
const steering = /[\p{Cc}\u200b-\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Prepares other people's text for a terminal: on one line, with everything escaped that could hide or fake output. */
export const printable = (text: string): string =>
  text.replace(steering, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
