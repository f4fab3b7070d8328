import { Help } from "commander";
import type { Command } from "commander";

/** The heading of a command's own flags, which come first. */
const ownFlags = "Options:";
/** A longer term has a line of its own, because commander would not wrap a description beside it. */
const longestTermColumns = 30;
/** On narrower terminals, descriptions are not wrapped. */
const minimumDescriptionColumns = 20;
/** When descriptions beside the terms would be narrower than this, all of them have lines of their own. */
const besideDescriptionColumns = 30;
/** The indentation of descriptions on lines of their own. */
const indentedColumns = 4;

/** Lays out the help of a command: its own flags first, then the groups that many commands have. Marks required flags. */
export function arrangeHelp(command: Command): void {
  command.configureHelp({
    minWidthToWrap: minimumDescriptionColumns,
    optionDescription: (option) => `${new Help().optionDescription(option)}${option.mandatory ? "; required" : ""}`,
    // oxlint-disable-next-line max-params -- what commander gives
    groupItems(unsorted, visible, groupOf) {
      const groups = new Map<string, typeof visible>();
      for (const item of unsorted) groups.set(groupOf(item), []);
      for (const item of visible) groups.set(groupOf(item), [...(groups.get(groupOf(item)) ?? []), item]);
      const own = groups.get(ownFlags);
      return own === undefined ? groups : new Map([[ownFlags, own], ...groups]);
    },
    padWidth(of, help) {
      const columns = Math.min(longestTermColumns, Help.prototype.padWidth.call(help, of, help));
      return columns + besideDescriptionColumns > (help.helpWidth ?? Infinity) ? indentedColumns : columns;
    },
    // oxlint-disable-next-line max-params -- what commander gives
    formatItem(term, termColumns, description, help) {
      const format = (before: string): string =>
        Help.prototype.formatItem.call(help, before, termColumns, description, help);
      if (description === "" || help.displayWidth(term) <= termColumns) return format(term);
      return `  ${term}\n${format("")}`;
    },
  });
}
