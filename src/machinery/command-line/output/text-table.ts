import { printable } from "./printable.ts";

/** A column of a listing: its header, and its cell for an item. */
export interface TextColumn<T> {
  readonly header: string;
  readonly cell: (item: T) => string;
  /** Only shown by `-o wide`. */
  readonly isWide?: true;
}

const gap = "   ";
/** A column is not cut to less than this, nor to less than its header. */
const narrowest = 12;

/** The width of the terminal that shows the output, in columns. Undefined when standard output is no terminal, so that nothing is cut. */
export const terminalWidth = (): number | undefined => (process.stdout.isTTY ? process.stdout.columns : undefined);

/**
 * Formats rows as columns under a header, like kubectl. Cells are made safe for a terminal. With `width`, the widest
 * columns are cut so that lines fit; the first column, which holds names, is never cut.
 */
export function textTable(
  rows: readonly (readonly string[])[],
  { header, width }: { readonly header: readonly string[]; readonly width?: number | undefined },
): string {
  const all = [header, ...rows].map((row) => row.map(printable));
  // Not `Math.max(...)`: a list may be longer than the arguments of a call.
  const needed = header.map((_, column) =>
    all.reduce((widest, row) => Math.max(widest, columnsOf(row[column] ?? "")), 0),
  );
  const widths = width === undefined ? needed : fitted(needed, { header, width });
  return all
    .map((row) =>
      row
        .map((cell, column) => padded(cut(cell, widths[column] ?? 0), widths[column] ?? 0))
        .join(gap)
        .trimEnd(),
    )
    .join("\n");
}

/** Takes the excess from the widest columns, until all fit or none can be narrower. */
function fitted(
  needed: readonly number[],
  { header, width }: { readonly header: readonly string[]; readonly width: number },
): number[] {
  const widths = [...needed];
  const least = needed.map((own, column) => Math.min(own, Math.max(narrowest, columnsOf(header[column] ?? ""))));
  let excess = widths.reduce((sum, own) => sum + own, 0) + gap.length * (widths.length - 1) - width;
  while (excess > 0) {
    const candidates = widths.map((own, column) => (column > 0 && own > (least[column] ?? 0) ? own : 0));
    const widest = candidates.indexOf(Math.max(...candidates));
    const own = candidates[widest] ?? 0;
    if (own === 0) break;
    // Narrow this column to the next widest one. From then on, they take turns.
    const next = Math.max(least[widest] ?? 0, ...candidates.filter((one) => one < own), own - excess);
    widths[widest] = Math.min(next, own - 1);
    excess -= own - (widths[widest] ?? own);
  }
  return widths;
}

const wide =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uff01-\uff60]/u;

/** How many columns of a terminal a character takes: marks take none, East Asian characters and emoji two. */
const columnsOfCharacter = (character: string): number => (/\p{M}/u.test(character) ? 0 : wide.test(character) ? 2 : 1);

const isAscii = (text: string): boolean => /^[ -~]*$/.test(text);

const columnsOf = (text: string): number =>
  isAscii(text) ? text.length : Array.from(text).reduce((sum, character) => sum + columnsOfCharacter(character), 0);

const padded = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - columnsOf(text)));

function cut(text: string, width: number): string {
  if (columnsOf(text) <= width) return text;
  let kept = "";
  let used = 0;
  for (const character of text) {
    used += columnsOfCharacter(character);
    if (used > width - 1) break;
    kept += character;
  }
  return `${kept}…`;
}

/** A label and its value, or values. An undefined value is left out. */
export type TextField = readonly [label: string, value: string | readonly string[] | undefined];

/** Labels and values in two columns, safe for a terminal: what `describe` shows. */
export function fieldsText(fields: readonly TextField[]): string {
  const [header = ["", ""], ...rows] = fields.flatMap(([label, value]) =>
    value === undefined ? [] : [[label, typeof value === "string" ? value : orNone(value)]],
  );
  return textTable(rows, { header });
}

const orNone = (values: readonly string[]): string => (values.length === 0 ? "<none>" : values.join(", "));
