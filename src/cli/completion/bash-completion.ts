import type { CompletedCommand, CompletedValue } from "./completed-command.ts";
import { commandWalk, quoted, valueCases } from "./shell-words.ts";

/** A script for bash, from version 3.2 on, which macOS has. */
export const bashCompletion = (commands: readonly CompletedCommand[]): string =>
  `# bash completion for signet. Load it with: source <(signet completion bash)

_signet() {
  local word=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]} command=signet offered="" i
  # bash takes "--flag=value" for three words.
  if [[ $word == "=" ]]; then
    word=""
  elif [[ $previous == "=" ]]; then
    previous=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
${commandWalk(commands, "${COMP_WORDS[i]}")}
  done
  COMPREPLY=()
  case "$command $previous" in
${valueCases(commands, offer)}
  esac
  case "$command" in
${commands.map(commandCase).join("\n")}
  esac
  COMPREPLY=($(compgen -W "$offered" -- "$word"))
}

complete -F _signet signet
`;

/** readline itself completes file names, because it can quote them. */
const offer = (value: CompletedValue): string =>
  value === "files"
    ? "compopt -o default 2>/dev/null"
    : value === "nothing"
      ? ":"
      : `COMPREPLY=($(compgen -W ${quoted(value.join(" "))} -- "$word"))`;

const commandCase = ({ path, subcommands, flags, argument }: CompletedCommand): string => {
  const names = [...subcommands.map(({ name }) => name), ...(typeof argument === "string" ? [] : argument)];
  return `    ${quoted(path)})
      offered=${quoted(names.join(" "))}
      [[ $word == -* ]] && offered=${quoted(flags.flatMap((flag) => flag.names).join(" "))}${
        argument === "files" ? "\n      compopt -o default 2>/dev/null" : ""
      }
      ;;`;
};
