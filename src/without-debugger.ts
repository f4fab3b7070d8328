import { close, url } from "node:inspector";

/**
 * SIGUSR1 opens the runtime's debugger on a loopback port, where every local user may read this process's memory and
 * files: keys too. A listener takes the signal's place; a debugger that a signal opened before it was there is closed.
 * `node --disable-sigusr1`, which `npm start` and all workers have, leaves not even that moment.
 * Who starts Node.js with `--inspect` has chosen the debugger, and keeps it.
 */
const isChosen = [...process.execArgv, ...(process.env["NODE_OPTIONS"] ?? "").split(/\s+/)].some((option) =>
  option.startsWith("--inspect"),
);

const closeDebugger = (): void => {
  if (!isChosen && url() !== undefined) close();
};

process.on("SIGUSR1", () => {});
closeDebugger();
// The runtime opens it in a thread of its own: one that was just being opened shows a little later.
setImmediate(closeDebugger);
setTimeout(closeDebugger, 1000).unref();
