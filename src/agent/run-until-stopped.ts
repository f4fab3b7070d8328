import { openProcessLog } from "../machinery/files/process-log.ts";
import type { AgentSettings } from "./agent-settings.ts";
import { startAgent } from "./start-agent.ts";

/**
 * Runs an agent until SIGTERM or SIGINT. SIGUSR2 renews both certificates at once, as is wanted after a key may have been
 * seen by others. Logs JSON lines on standard error.
 */
export async function runAgentUntilStopped(settings: AgentSettings, version: string): Promise<void> {
  const log = openProcessLog(settings.logLevel);
  const agent = await startAgent(settings, { log, version });
  const rotate = (): void => {
    log.info({}, "renewing both certificates, as asked by SIGUSR2");
    agent.rotateNow();
  };
  process.on("SIGUSR2", rotate);
  const { promise, resolve } = Promise.withResolvers<string>();
  process.once("SIGTERM", resolve).once("SIGINT", resolve);
  // Whoever reads this may send signals.
  console.log(`signet agent ${version}: node ${settings.nodeName} serves on port ${agent.port}`);
  const signal = await promise;
  log.info({ signal }, "stopping");
  // A second signal does not wait.
  process.once("SIGTERM", () => process.exit(1)).once("SIGINT", () => process.exit(1));
  await agent.stop();
}
