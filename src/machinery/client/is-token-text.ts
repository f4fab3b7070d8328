/** Whether a text can be a bearer token. A header can hold nothing else: no blanks, no line breaks, no letters beyond ASCII. */
export const isTokenText = (text: string): boolean => /^[\x21-\x7e]+$/.test(text);
