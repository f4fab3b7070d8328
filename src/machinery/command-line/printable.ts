/** Control characters, and those that reorder a line: what others wrote must not steer the terminal that shows it. */
const steering = /[\p{Cc}\u200b-\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Text of others, for a terminal: on one line, with everything that could hide or fake output escaped. */
export const printable = (text: string): string =>
  text.replace(steering, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
