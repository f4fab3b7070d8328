/** Says that the command waits for what somebody types, when standard input is a terminal. `what`: such as `the token`. */
export function announceTerminalInput(what: string): void {
  if (process.stdin.isTTY) console.error(`reading ${what} from the terminal: end it with a new line and Ctrl-D`);
}
