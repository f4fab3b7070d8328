import { hash } from "node:crypto";
import { uptime } from "node:os";
import { monotonicClock, systemClock, sleep as realSleep } from "../machinery/api/clock.ts";
import type { Clock, Sleep } from "../machinery/api/clock.ts";
import { ignoredProxy } from "../machinery/client/https/proxy-agent.ts";
import { removeUnfinishedFiles } from "../machinery/files/unfinished-files.ts";
import { openAgentListener } from "./agent-listener.ts";
import type { AgentCertificates, AgentContext, AgentParts } from "./agent-parts.ts";
import { checkStart } from "./check-start.ts";
import { AgentMetrics } from "./agent-metrics.ts";
import type { AgentSettings } from "./agent-settings.ts";
import { agentFaults } from "./agent-status.ts";
import type { AgentStatus } from "./agent-status.ts";
import { FailureLog } from "./failure-log.ts";
import { HookMemory } from "./files/hook-memory.ts";
import { hookGraceMilliseconds, HookRunner } from "./files/hook-runner.ts";
import { certificatesFolder, managedCertificate } from "./certificates/managed-certificate.ts";
import type { ManagedCertificate } from "./certificates/managed-certificate.ts";
import { NodeIdentity } from "./connection/node-identity.ts";
import { runAgent } from "./run-agent.ts";
import { logSkew, ServerClock } from "./connection/server-clock.ts";
import type { TrustBundleContents, TrustBundleState } from "./files/bundle-file.ts";
import type { Connect } from "./connection/agent-clients.ts";
import type { Log } from "../machinery/logging/log.ts";

export interface StartAgentOptions {
  readonly log: Log;
  readonly version: string;
  readonly clock?: Clock;
  /** A clock that changes of the system time do not affect. */
  readonly monotonic?: Clock;
  readonly sleep?: Sleep;
  /** Default: over HTTPS. */
  readonly connect?: Connect;
}

export interface RunningAgent {
  readonly port: number;
  /** Renews a certificate now, or all of them. Returns whether there is a certificate of this name. */
  renewNow(name?: string): boolean;
  status(): AgentStatus;
  /** Rejects when a loop has ended unexpectedly: certificates may no longer be renewed, so stop the agent. */
  readonly broken: Promise<never>;
  /**
   * Ends all loops and the listener. Files stay. A running hook has this long to finish, and everything else continues until then. Another
   * call may give it less time.
   */
  stop(options?: { readonly hookGraceMilliseconds?: number }): Promise<void>;
}

/** Continues while the machine sleeps, unlike `monotonicClock`. */
const uptimeClock: Clock = { now: () => uptime() * 1000 };

/**
 * Starts an agent: its listener at once, everything else as soon as the server answers. It continues until it is stopped,
 * whatever the server does. Rejects when the listener's port or the data directory cannot be used, and with UsageError when the
 * agent has no credential and would never get one.
 */
export async function startAgent(settings: AgentSettings, options: StartAgentOptions): Promise<RunningAgent> {
  const { context, failureLogs } = openContext(settings, options);
  const { log, metrics, hooks, certificateInstalled } = context;
  const withoutProxy = ignoredProxy(process.env);
  if (withoutProxy !== undefined) log.warn({}, withoutProxy);
  const identity = new NodeIdentity({
    ...context,
    userAgent: `signet-agent/${context.version}`,
    onRefused: () => owned.client.manager.check(),
    connect: options.connect,
  });
  const owned = ownedCertificates(context, identity);
  const certificates = [owned.client, owned.serving, ...owned.services];
  removeUnfinishedFiles(certificatesFolder(settings));
  checkStart(identity, context);
  const bundles = new Map<string, TrustBundleState>();
  const status = (): AgentStatus => statusOf({ context, identity, certificates, bundles, failureLogs });
  const listener = await openAgentListener({
    address: settings.listenAddress,
    port: settings.port,
    metrics,
    log,
    faults: () => agentFaults(status()),
  });
  followServingCertificate(owned.serving, { listener, certificateInstalled });

  const stopping = new AbortController();
  const work = runAgent(
    {
      ...context,
      ...owned,
      identity,
      listener,
      onTrustBundle: (file, found) => runBundleHook({ file, ...found }, context),
      onAnchors(file, state) {
        bundles.set(file, state);
        metrics.trustBundle(file, state.anchors);
      },
    },
    stopping.signal,
  );
  return {
    port: listener.port,
    status,
    broken: new Promise<never>((_, reject) => void work.catch(reject)),
    renewNow(name) {
      const chosen = certificates.filter(({ manager }) => name === undefined || manager.status.name === name);
      for (const { manager } of chosen) manager.renewNow();
      return chosen.length > 0;
    },
    async stop({ hookGraceMilliseconds: graceMilliseconds = hookGraceMilliseconds } = {}) {
      await hooks.stop({ graceMilliseconds }); // before the heartbeats end, which would make the machine look lost
      stopping.abort();
      identity.connection.close();
      await Promise.all([listener.close(), Promise.allSettled([work])]);
    },
  };
}

/** Makes what all parts share, and collects the failure logs that the parts open. */
function openContext(
  settings: AgentSettings,
  options: StartAgentOptions,
): { readonly context: AgentContext; readonly failureLogs: readonly FailureLog[] } {
  const { log, version, clock = systemClock, monotonic = monotonicClock, sleep = realSleep } = options;
  const metrics = new AgentMetrics();
  const onSkew = (milliseconds: number): void => {
    metrics.clockSkew(milliseconds);
    logSkew(milliseconds, log);
  };
  const failureLogs: FailureLog[] = [];
  const context: AgentContext = {
    settings,
    version,
    log,
    metrics,
    hooks: new HookRunner({
      memory: new HookMemory(settings.dataDirectory, log),
      log,
      monotonic,
      random: Math.random,
      sleep,
    }),
    serverClock: new ServerClock({ local: clock, monotonic: options.monotonic ?? uptimeClock, onSkew }),
    monotonic,
    random: Math.random,
    sleep,
    certificateInstalled: new EventTarget(),
    failureLog(texts) {
      const made = new FailureLog({ ...texts, log, monotonic });
      failureLogs.push(made);
      return made;
    },
  };
  return { context, failureLogs };
}

interface StatusSources {
  readonly context: AgentContext;
  readonly identity: NodeIdentity;
  readonly certificates: readonly ManagedCertificate[];
  /** The state of the bundles by the names of their files. */
  readonly bundles: ReadonlyMap<string, TrustBundleState>;
  readonly failureLogs: readonly FailureLog[];
}

const statusOf = ({ context, identity, certificates, bundles, failureLogs }: StatusSources): AgentStatus => ({
  nodeName: context.settings.nodeName,
  now: context.serverClock.now(),
  certificates: certificates.map(({ manager, published }) => ({
    ...manager.status,
    // Also while the certificate is tried again, because the bootstrap credential is refused too.
    ...(identity.connection.isRefused(manager.current) && { state: "refused" }),
    fileFault: published.fault,
  })),
  trustBundles: context.settings.trustBundles.map(({ file }) => ({ file, anchors: undefined, ...bundles.get(file) })),
  outages: failureLogs.flatMap(({ present }) => present ?? []),
  hookFaults: context.hooks.faults(),
  hasPendingHooks: !context.hooks.isIdle,
});

/** Lets the listener use the present serving certificate, and each renewed one. */
function followServingCertificate(
  serving: ManagedCertificate,
  { listener, certificateInstalled }: Pick<AgentParts, "listener" | "certificateInstalled">,
): void {
  const use = (): void => {
    if (serving.manager.current !== undefined) listener.useCertificate(serving.manager.current);
  };
  use();
  certificateInstalled.addEventListener("serving", use);
}

/** Runs the hook of a trust bundle's file when it has not run for these contents, or when they were repaired. */
function runBundleHook(
  { file, contents, isRepaired }: TrustBundleContents & { readonly file: string },
  { settings, hooks }: AgentContext,
): void {
  const hook = settings.trustBundles.find((one) => one.file === file)?.hook ?? settings.hook;
  const digest = hash("sha256", contents, "hex");
  if (isRepaired) hooks.repaired(file);
  if (hook !== undefined) hooks.changed({ change: "trust-bundle", file, digest, hook });
}

/** All certificates of the agent. The identity uses the present client certificate, and each renewed one. */
function ownedCertificates(context: AgentContext, identity: NodeIdentity): AgentCertificates {
  const client = managedCertificate(context, {
    name: "client",
    mustReplace: (pair) => identity.connection.shouldUseBootstrap(pair),
    requestClient: () => identity.requestClient(),
    onInstalled: (pair) => identity.useCertificate(pair),
  });
  if (client.manager.current !== undefined) identity.useCertificate(client.manager.current);
  const asNode = { mustReplace: () => false, requestClient: () => identity.connection.node };
  return {
    client,
    serving: managedCertificate(context, { ...asNode, name: "serving" }),
    services: context.settings.certificates.map((service) => ({
      service,
      ...managedCertificate(context, { ...asNode, name: service.name, service }),
    })),
  };
}
