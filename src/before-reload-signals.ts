import { onReloadSignal } from "./machinery/command-line/reload-signal.ts";

/**
 * SIGHUP and SIGUSR2 ask a server or an agent for something, and by default they end a process. One that still loads its code, which takes
 * up to a second, only ignores them: it reads its settings after that. With its log on a terminal, SIGHUP ends it as usual.
 */
onReloadSignal(() => {});
process.on("SIGUSR2", () => {});
