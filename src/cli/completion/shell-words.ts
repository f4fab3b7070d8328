import type { CompletedCommand, CompletedValue } from "./completed-command.ts";

/** Quotes a text as one word of bash or zsh. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** The flags of all commands, grouped by the values that they take. */
function valuesByOffer(
  commands: readonly CompletedCommand[],
): { readonly value: CompletedValue; readonly flags: readonly string[] }[] {
  const found = new Map<string, { value: CompletedValue; flags: string[] }>();
  for (const { path, flags } of commands) {
    for (const { names, value } of flags) {
      if (value === undefined) continue;
      const key = String(value);
      const group = found.get(key) ?? { value, flags: [] };
      group.flags.push(...names.map((name) => `${path} ${name}`));
      found.set(key, group);
    }
  }
  return [...found.values()];
}

/** A `case` that appends `word` to `$command` when the two together name a command. */
export const commandWalk = (commands: readonly CompletedCommand[], word: string): string =>
  `    case "$command ${word}" in
      ${commands.map(({ path }) => quoted(path)).join(" | ")})
        command="$command ${word}"
        ;;
    esac`;

/** The branches of a `case "$command $previous"`. `offer` returns the shell code that offers the values of a flag. */
export const valueCases = (commands: readonly CompletedCommand[], offer: (value: CompletedValue) => string): string =>
  valuesByOffer(commands)
    .map(
      ({ value, flags }) => `    ${flags.map(quoted).join(" | ")})
      ${offer(value)}
      return
      ;;`,
    )
    .join("\n");
