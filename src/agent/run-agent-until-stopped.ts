import type { Logger } from "pino";
import { listenFault } from "../machinery/command-line/listen-fault.ts";
import { openProcessLog, openProcessOutput } from "../machinery/files/lines/process-log.ts";
import { UnusableFile } from "../machinery/files/unusable-file.ts";
import { oncePerTurn } from "../machinery/scheduling/once-per-turn.ts";
import { serviceManager } from "../machinery/service-manager.ts";
import { sendTraces } from "../machinery/trace-export/send-traces.ts";
import { openControlSocket } from "./agent-control.ts";
import { messageOf } from "../machinery/api/thrown-error.ts";
import type { AgentSettings } from "./agent-settings.ts";
import { AgentEvents } from "./agent-events.ts";
import { ownDataDirectory } from "./own-data-directory.ts";
import { startAgent } from "./start-agent.ts";
import type { RunningAgent } from "./start-agent.ts";

/** Where the settings come from. */
export interface SettingsSource {
  /** Reads and checks all settings again. Throws an error with one line for people. */
  readonly load: () => AgentSettings;
  /** When this file or one of the settings' `followedFiles` changes, all settings are read again. */
  readonly configurationFile: string | undefined;
}

/** The longest time that a reload waits for a running hook. No hook may run longer. */
const reloadGraceMilliseconds = 3_600_000;

/**
 * Runs an agent until SIGTERM or SIGINT, and ends at most five seconds after that. Only the generation of an RSA key can take longer,
 * because Node.js cannot end it. SIGHUP, or a change of a settings file, reads all settings again: the agent restarts inside the process,
 * and wrong settings leave the old ones in use. SIGUSR2 renews all certificates. Logs on standard error. Throws UnusableFile when another
 * agent uses the data directory. Throws the error that has broken the agent, so that its supervisor starts it again.
 */
export async function runAgentUntilStopped(source: SettingsSource, version: string): Promise<void> {
  let settings = source.load();
  const { dataDirectory } = settings;
  const folder = ownDataDirectory(dataDirectory);
  const log = openProcessLog(settings.log);
  const say = openProcessOutput(); // a hook may have filled the pipe
  await sendTraces({ log, service: { name: "signet-agent", version } });
  const manager = serviceManager(log);
  let agent: RunningAgent | undefined;
  const filesOf = ({ followedFiles }: AgentSettings): readonly string[] =>
    source.configurationFile === undefined ? followedFiles : [source.configurationFile, ...followedFiles];
  const events = new AgentEvents({ first: filesOf(settings), load: () => filesOf(source.load()) }, log);
  let isRenewalAsked = false;
  process.on(
    "SIGUSR2",
    oncePerTurn(() => {
      log.info({}, "renewing all certificates, as requested by SIGUSR2");
      if (agent === undefined) isRenewalAsked = true;
      else agent.renewNow();
    }),
  );
  const control = await openControlSocket(dataDirectory, { agent: () => agent, log });
  /** Starts an agent with the new settings, or with the old ones when that fails. */
  const restarted = async (next: AgentSettings): Promise<RunningAgent> => {
    try {
      const started = await startAgent(next, { log, version });
      settings = next;
      return started;
    } catch (error) {
      const reason = listenFault(error) ?? messageOf(error);
      log.error({}, `the new settings cannot be used, the old ones stay: ${reason}`);
      return startAgent(settings, { log, version });
    }
  };
  try {
    agent = await startAgent(settings, { log, version });
    if (isRenewalAsked) agent.renewNow();
    say(`signet agent ${version}: node ${settings.nodeName} serves on port ${agent.port}`);
    manager.ready();
    for (;;) {
      const next = await Promise.race([nextSettings({ source, events, log, dataDirectory }), agent.broken]).catch(
        async (error: unknown) => {
          await agent?.stop();
          throw error;
        },
      );
      if (next === undefined) break;
      const ended = agent.stop({ hookGraceMilliseconds: reloadGraceMilliseconds });
      if ((await Promise.race([ended, events.stop])) !== undefined) break;
      const previous = agent;
      agent = await restarted(next);
      // Renewals that were requested before this moment, and that the server has not issued yet.
      for (const { name, isRenewalRequested } of previous.status().certificates) {
        if (isRenewalRequested) agent.renewNow(name);
      }
    }
    const { signal } = await events.stop;
    log.info({ signal }, "stopping");
    manager.stopping();
    await agent.stop();
  } finally {
    await control.close(); // an open socket would keep the process alive
    events.close();
    folder.release();
  }
}

interface Reloading {
  readonly source: SettingsSource;
  readonly events: AgentEvents;
  readonly log: Logger;
  readonly dataDirectory: string;
}

/** The settings to start again with. Settings that cannot be used are only logged. Undefined: a signal stops the agent. */
async function nextSettings({ source, events, log, dataDirectory }: Reloading): Promise<AgentSettings | undefined> {
  for (;;) {
    const event = await events.next();
    if (event.reason === "stop") return undefined;
    try {
      const next = source.load();
      if (next.dataDirectory !== dataDirectory) {
        throw new UnusableFile("the data directory cannot change while the agent runs: restart the agent");
      }
      log.level = next.log.level;
      log.info({}, `reading the settings again: ${event.why}`);
      return next;
    } catch (error) {
      log.error({}, `the settings cannot be used, the old ones stay: ${messageOf(error)}`);
    }
  }
}
