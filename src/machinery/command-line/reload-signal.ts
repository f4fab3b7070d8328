import { isatty } from "node:tty";

/**
 * Calls `reload` at each SIGHUP, until the process ends. With logs on a terminal, SIGHUP means that the terminal is gone, and ends the
 * process as usual: else it would go on where nobody sees it.
 */
export function onReloadSignal(reload: () => void, { isOnTerminal = isatty(2) } = {}): void {
  if (!isOnTerminal) process.on("SIGHUP", reload);
}
