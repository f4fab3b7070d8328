import { join } from "node:path";
import { systemClock } from "../machinery/api/clock.ts";
import type { Clock } from "../machinery/api/clock.ts";
import { sleep as realSleep } from "../machinery/loops/repetition.ts";
import type { Sleep } from "../machinery/loops/repetition.ts";
import { openAgentListener } from "./agent-listener.ts";
import type { AgentLog } from "./agent-log.ts";
import { AgentMetrics } from "./agent-metrics.ts";
import type { AgentSettings } from "./agent-settings.ts";
import { CertificateManager } from "./certificate-manager.ts";
import type { CertificateManagerOptions } from "./certificate-manager.ts";
import { certificateFaults } from "./certificate-renewal.ts";
import { CertificateStore } from "./certificate-store.ts";
import { ChangeCommand } from "./change-command.ts";
import type { FileChange } from "./change-command.ts";
import { NodeIdentity } from "./node-identity.ts";
import { runAgent } from "./run-agent.ts";
import { ServerClock } from "./server-clock.ts";

export interface StartAgentOptions {
  readonly log: AgentLog;
  readonly version: string;
  readonly clock?: Clock;
  /** A clock that is never set. */
  readonly monotonic?: Clock;
  /** From 0 to 1. */
  readonly random?: () => number;
  readonly sleep?: Sleep;
}

/** An agent at work. */
export interface RunningAgent {
  readonly port: number;
  /** Renews both certificates now. */
  rotateNow(): void;
  /** Ends all loops and the listener; files stay. */
  stop(): Promise<void>;
}

/**
 * Starts an agent: its listener at once, everything else as soon as the server answers. It goes on until it is stopped,
 * whatever the server does. Rejects when the listener's port or the data directory can't be used.
 */
export async function startAgent(settings: AgentSettings, options: StartAgentOptions): Promise<RunningAgent> {
  const { log, version, clock = systemClock, monotonic = performance } = options;
  const { random = Math.random, sleep = realSleep } = options;
  const metrics = new AgentMetrics();
  const serverClock = new ServerClock({ local: clock, onSkew: (skew) => tellOfSkew(skew, { log, metrics }) });
  const command = settings.changeCommand === undefined ? undefined : new ChangeCommand(settings.changeCommand, log);
  const onFileChange = (change: FileChange): void => command?.changed(change);
  const certificateInstalled = new EventTarget();

  const manager = (
    rest: Pick<CertificateManagerOptions, "name" | "isRefused" | "requestClient" | "onInstalled">,
  ): CertificateManager => {
    const { name } = rest;
    const store = new CertificateStore(join(settings.dataDirectory, "pki"), name);
    const made = new CertificateManager({
      ...rest,
      store,
      lifetimeSeconds: settings.certificateLifetimeSeconds,
      clock: serverClock,
      monotonic,
      random,
      sleep,
      log,
      onInstalled(pair) {
        metrics.certificateInstalled(name);
        metrics.certificateInUse(name, pair.certificate);
        rest.onInstalled(pair);
        onFileChange({ change: `${name}-certificate`, file: store.file });
        certificateInstalled.dispatchEvent(new Event(name));
      },
      onFailed: () => metrics.certificateFailed(name),
    });
    if (made.current !== undefined) metrics.certificateInUse(name, made.current.certificate);
    return made;
  };
  const client = manager({
    name: "client",
    isRefused: (pair) => identity.isRefused(pair),
    requestClient: () => identity.requestClient(),
    onInstalled: () => {},
  });
  const identity = new NodeIdentity({
    settings,
    clientCertificate: () => client.current,
    serverClock,
    localClock: clock,
    userAgent: `signet-agent/${version}`,
  });
  const serving = manager({
    name: "serving",
    isRefused: () => false,
    requestClient: () => identity.connection.node,
    onInstalled: (pair) => listener.useCertificate(pair),
  });
  const listener = await openAgentListener({
    address: settings.listenAddress,
    port: settings.port,
    metrics,
    log,
    faults: () => certificateFaults({ client: client.current, serving: serving.current }, serverClock.now()),
  });
  if (serving.current !== undefined) listener.useCertificate(serving.current);

  const stopping = new AbortController();
  const parts = { settings, version, log, metrics, identity, serverClock, random, sleep, listener, client, serving };
  const work = runAgent({ ...parts, onFileChange, certificateInstalled }, stopping.signal);
  return {
    port: listener.port,
    rotateNow() {
      client.rotateNow();
      serving.rotateNow();
    },
    async stop() {
      stopping.abort();
      identity.connection.close();
      await listener.close();
      await work;
    },
  };
}

function tellOfSkew(
  milliseconds: number,
  { log, metrics }: { readonly log: AgentLog; readonly metrics: AgentMetrics },
): void {
  metrics.clockSkew(milliseconds);
  const skewSeconds = Math.round(milliseconds / 1000);
  if (skewSeconds === 0) log.info({}, "this machine's clock agrees with the server's again");
  else log.warn({ skewSeconds }, "this machine's clock differs from the server's, whose time is used for certificates");
}
