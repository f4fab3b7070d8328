import type { CompletedCommand, CompletedValue } from "./completed-command.ts";
import { commandWalk, quoted, valueCases } from "./shell-words.ts";

/** A script for zsh, which sources it or finds it as `_signet` in its fpath. */
export const zshCompletion = (commands: readonly CompletedCommand[]): string =>
  `#compdef signet
# zsh completion for signet. Load it with: source <(signet completion zsh)

_signet() {
  local command=signet previous=\${words[CURRENT-1]} i
  local -a names flags
  if [[ \${words[CURRENT]} == --*=* ]]; then
    previous=\${words[CURRENT]%%=*}
    compset -P '*='
  fi
  for ((i = 2; i < CURRENT; i++)); do
${commandWalk(commands, "${words[i]}")}
  done
  case "$command $previous" in
${valueCases(commands, offer)}
  esac
  case "$command" in
${commands.map(commandCase).join("\n")}
  esac
  if [[ $PREFIX == -* ]]; then
    _describe 'flag' flags
  else
    _describe 'command' names
  fi
}

if [[ \${funcstack[1]} == _signet ]]; then
  _signet "$@"
else
  compdef _signet signet
fi
`;

const offer = (value: CompletedValue): string =>
  value === "files" ? "_files" : value === "nothing" ? ":" : `compadd -- ${value.map(quoted).join(" ")}`;

/** `_describe` takes everything after a colon as the description. */
const described = (name: string, description: string): string =>
  quoted(`${name.replaceAll(":", "\\:")}:${description.replaceAll(":", "\\:")}`);

const commandCase = ({ path, subcommands, flags, argument }: CompletedCommand): string =>
  `    ${quoted(path)})
      names=(${[
        ...subcommands.map(({ name, description }) => described(name, description)),
        ...(typeof argument === "string" ? [] : argument.map(quoted)),
      ].join(" ")})
      flags=(${flags.flatMap((flag) => flag.names.map((name) => described(name, flag.description))).join(" ")})${
        argument === "files" ? "\n      [[ $PREFIX == -* ]] || { _files; return }" : ""
      }
      ;;`;
