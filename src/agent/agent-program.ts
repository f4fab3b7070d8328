import { sleep } from "../machinery/api/clock.ts";
import { exitCodes } from "../machinery/command-line/command-failure.ts";
import { interruptible } from "../machinery/command-line/interruptible.ts";
import { printable } from "../machinery/command-line/output/printable.ts";
import { openProcessLog } from "../machinery/files/lines/process-log.ts";
import { readAgentStatus, renewThroughAgent } from "./agent-control.ts";
import { renewalText, statusText } from "./agent-status-text.ts";
import { agentFaults } from "./agent-status.ts";
import type { AgentStatus } from "./agent-status.ts";
import { checkAgent } from "./check/check-agent.ts";
import { runAgentUntilStopped } from "./run-agent-until-stopped.ts";
import type { SettingsSource } from "./run-agent-until-stopped.ts";
import { ownDataDirectory } from "./own-data-directory.ts";
import { startAgent } from "./start-agent.ts";

/** A command of `signet agent`. */
export type AgentProgram = AgentSource &
  (
    | { readonly type: "run" | "status" | "check" }
    | { readonly type: "once"; readonly timeoutMilliseconds: number }
    | { readonly type: "renew"; readonly name: string }
  );

interface AgentSource extends SettingsSource {
  /** Reads the data directory from the settings. Needs no server. */
  readonly dataDirectory: () => string;
}

/** Runs a command. Sets the process's exit code to 1 when the command finds a fault. */
export async function runAgentProgram(program: AgentProgram, version: string): Promise<void> {
  switch (program.type) {
    case "run":
      return runAgentUntilStopped(program, version);
    case "once":
      return runOnce(program, version);
    case "status": {
      const status = await readAgentStatus(program.dataDirectory());
      console.log(statusText(status));
      if (agentFaults(status).length > 0) process.exitCode = exitCodes.refused.code;
      return;
    }
    case "check": {
      const isInOrder = await checkAgent(program.load(), { print: (line) => console.log(printable(line)), version });
      // A failure to write the lines may have set the exit code already.
      if (!isInOrder) process.exitCode ||= exitCodes.refused.code;
      return;
    }
    case "renew": {
      const dataDirectory = program.dataDirectory();
      await renewThroughAgent(dataDirectory, program.name);
      console.log(renewalText(await readAgentStatus(dataDirectory), program.name));
    }
  }
}

const pollMilliseconds = 100;

/** For cron, images and CI: ends as soon as everything is up to date. SIGINT or SIGTERM ends it earlier, as with a running agent. */
async function runOnce(program: Extract<AgentProgram, { readonly type: "once" }>, version: string): Promise<void> {
  const settings = { ...program.load(), port: 0 };
  const folder = ownDataDirectory(settings.dataDirectory);
  const status = await interruptible("the same command continues, with the same keys and requests", async (signal) => {
    const agent = await startAgent(settings, { log: openProcessLog(settings.log), version });
    const end = performance.now() + program.timeoutMilliseconds;
    try {
      while (!isUpToDate(agent.status()) && performance.now() < end && !signal.aborted) {
        await Promise.race([sleep(pollMilliseconds, signal), agent.broken]);
      }
    } finally {
      await agent.stop();
      folder.release();
    }
    signal.throwIfAborted();
    return agent.status();
  });
  console.log(statusText(status));
  if (isUpToDate(status)) return;
  console.error(
    "signet: not everything is up to date after the time of --timeout; the lines above and the log say why",
  );
  process.exitCode = exitCodes.pending.code;
}

const isUpToDate = (status: AgentStatus): boolean =>
  agentFaults(status).length === 0 &&
  !status.hasPendingHooks &&
  status.certificates.every(({ state, isUnfinished }) => state === "current" && !isUnfinished) &&
  status.trustBundles.every(({ anchors }) => anchors !== undefined);
