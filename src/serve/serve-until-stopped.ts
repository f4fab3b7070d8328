import pino from "pino";
import type { ServeOptions } from "../cli/serve-flags.ts";
import { startServer } from "./start-server.ts";

/** How long requests may go on after the first signal to stop. */
const graceMilliseconds = 10_000;

/** Runs a server until SIGTERM or SIGINT, and says on standard output where it is and when it is ready. */
export async function serveUntilStopped(options: ServeOptions): Promise<void> {
  const log = pino({ level: options["log-level"], base: null }, pino.destination({ dest: 2, sync: false }));
  const server = await startServer(options, { log });
  const kubeconfig = server.kubeconfigFile;
  console.log(`signet ${server.version} (${options.profile} names) listens on ${server.url}`);
  console.log(`  kubectl --kubeconfig ${kubeconfig} get serviceaccounts --all-namespaces`);
  // Since the process began, the runtime's own start included.
  console.log(`ready in ${Math.round(performance.now())} ms`);

  const { promise, resolve } = Promise.withResolvers<string>();
  process.once("SIGTERM", resolve).once("SIGINT", resolve);
  const signal = await promise;
  log.info({ signal }, "stopping");
  // A second signal does not wait.
  process.once("SIGTERM", () => process.exit(1)).once("SIGINT", () => process.exit(1));
  await server.stop({ graceMilliseconds });
}
