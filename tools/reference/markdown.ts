/** Text for a cell of a Markdown table: one line, with nothing in it that Markdown would take for markup. */
export const cell = (text: string): string =>
  text
    .replaceAll(/\s+/g, " ")
    .trim()
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith("`") ? part : part.replaceAll(/[<*_]/g, "\\$&")))
    .join("")
    .replaceAll("|", "\\|");

export const code = (text: string): string => (text === "" ? "" : `\`${text.replaceAll("|", "\\|")}\``);

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");

/** A page of these parts, with a blank line between them; empty parts are left out. */
export const page = (...parts: readonly string[]): string => `${parts.filter((part) => part !== "").join("\n\n")}\n`;
