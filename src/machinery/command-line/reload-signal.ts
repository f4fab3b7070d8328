import { isatty } from "node:tty";

/**
 * Calls `reload` at each SIGHUP, until the process ends. When the log is a terminal, SIGHUP means that the terminal has closed. Then it
 * ends the process as usual, because nobody would see the process otherwise.
 */
export function onReloadSignal(reload: () => void, { isOnTerminal = isatty(2) } = {}): void {
  if (!isOnTerminal) process.on("SIGHUP", reload);
}
