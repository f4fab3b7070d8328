/** What the writer of a power cut test says about a write. The number is the value's; 0 for a delete. */
export type Note =
  | { readonly type: "begun"; readonly key: string; readonly number: number }
  | { readonly type: "acknowledged"; readonly key: string; readonly number: number; readonly revision: number };

export const formatNote = (note: Note): string => `${JSON.stringify(note)}\n`;

export const parseNotes = (text: string): Note[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Note); // formatted by formatNote
