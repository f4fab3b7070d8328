import { startServerProcess } from "../bench/processes/server-process.ts";
import type { ServerProcess } from "../bench/processes/server-process.ts";
import { afterWhatRuns } from "./after-what-runs.ts";

/** A server in a separate process, which is killed at the end of the test, suite or file that starts it if it still runs. */
export async function startTestServerProcess(...given: Parameters<typeof startServerProcess>): Promise<ServerProcess> {
  const server = await startServerProcess(...given);
  afterWhatRuns(() => server.kill());
  return server;
}
