import type { CompletedCommand, CompletedFlag } from "./completed-command.ts";

/** A script for fish. */
export const fishCompletion = (commands: readonly CompletedCommand[]): string =>
  `# fish completion for signet. Load it with: signet completion fish | source

function __signet_command
    set -l command signet
    for word in (commandline -opc)[2..]
        switch "$command $word"
            case ${commands.map(({ path }) => quotedForFish(path)).join(" ")}
                set command "$command $word"
        end
    end
    echo $command
end

complete -c signet -f
${commands.flatMap(completions).join("\n")}
`;

function completions({ path, subcommands, flags, argument }: CompletedCommand): string[] {
  const start = `complete -c signet -n ${quotedForFish(`test (__signet_command) = "${path}"`)}`;
  return [
    ...subcommands.map(({ name, description }) => `${start} -a ${name} -d ${quotedForFish(description)}`),
    ...(argument === "files" ? [`${start} -F`] : []),
    ...(typeof argument === "string" || argument.length === 0
      ? []
      : [`${start} -a ${quotedForFish(argument.join(" "))}`]),
    ...flags.map((flag) => `${start} ${flagWords(flag)} -d ${quotedForFish(flag.description)}`),
  ];
}

function flagWords({ names, value }: CompletedFlag): string {
  const forms = names.map((name) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`)).join(" ");
  if (value === undefined) return forms;
  if (value === "files") return `${forms} -r -F`;
  return value === "nothing" ? `${forms} -x` : `${forms} -x -a ${quotedForFish(value.join(" "))}`;
}

const quotedForFish = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
