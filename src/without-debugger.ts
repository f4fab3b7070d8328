import { close, url } from "node:inspector";

/**
 * SIGUSR1 opens the runtime's debugger on a loopback port, where every local user could read this process's memory and files, including
 * keys. A listener for the signal prevents that. A debugger that a signal opened before the listener existed is closed. `node
 * --disable-sigusr1`, which `npm start` and all workers use, closes even that gap. A user who starts Node.js with `--inspect` has chosen
 * the debugger, and keeps it.
 */
const isChosen = [...process.execArgv, ...(process.env["NODE_OPTIONS"] ?? "").split(/\s+/)].some((option) =>
  option.startsWith("--inspect"),
);

const closeDebugger = (): void => {
  if (!isChosen && url() !== undefined) close();
};

process.on("SIGUSR1", () => {});
closeDebugger();
// The runtime opens the debugger in another thread, so a debugger that was just being opened appears a little later.
setImmediate(closeDebugger);
setTimeout(closeDebugger, 1000).unref();
