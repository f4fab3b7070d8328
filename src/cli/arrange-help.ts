import type { Command } from "commander";

/** The heading of a command's own flags: it comes first, whatever was added first. */
const ownFlags = "Options:";

/** Lays out the help of a command: its own flags first, then the groups that many commands have. */
export function arrangeHelp(command: Command): void {
  command.configureHelp({
    groupItems(unsorted, visible, groupOf) {
      const groups = new Map<string, typeof visible>();
      for (const item of unsorted) groups.set(groupOf(item), []);
      for (const item of visible) groups.set(groupOf(item), [...(groups.get(groupOf(item)) ?? []), item]);
      const own = groups.get(ownFlags);
      return own === undefined ? groups : new Map([[ownFlags, own], ...groups]);
    },
  });
}
