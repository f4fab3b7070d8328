import { onReloadSignal } from "./machinery/command-line/reload-signal.ts";

/**
 * SIGHUP and SIGUSR2 ask a server or an agent to do something, but by default they end a process. A process that still loads its code,
 * which takes up to a second, ignores them: it reads its settings afterwards anyway. When the log is a terminal, SIGHUP ends the process as
 * usual.
 */
onReloadSignal(() => {});
process.on("SIGUSR2", () => {});
