import { textTable } from "./text-table.ts";

/** A label and its value, or values. An undefined value is left out. */
export type TextField = readonly [label: string, value: string | readonly string[] | undefined];

/** Labels and values in two columns, safe for a terminal: what `describe` shows. */
export function fieldsText(fields: readonly TextField[]): string {
  const [first = ["", ""], ...rest] = fields.flatMap(([label, value]) =>
    value === undefined ? [] : [[label, typeof value === "string" ? value : orNone(value)]],
  );
  return textTable(first, rest);
}

const orNone = (values: readonly string[]): string => (values.length === 0 ? "<none>" : values.join(", "));
