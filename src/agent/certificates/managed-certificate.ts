import { join } from "node:path";
import type { Clock, Sleep } from "../../machinery/api/clock.ts";
import type { AgentMetrics } from "../agent-metrics.ts";
import type { AgentSettings, ServiceCertificate } from "../agent-settings.ts";
import { CertificateManager } from "./certificate-manager.ts";
import type { CertificateManagerOptions } from "./certificate-manager.ts";
import { CertificateStore } from "./certificate-store.ts";
import type { OpenFailureLog } from "../failure-log.ts";
import type { HookRunner } from "../files/hook-runner.ts";
import { PublishedCertificate } from "../files/published-certificate.ts";
import type { Log } from "../../machinery/logging/log.ts";

/** A certificate that is renewed in time, with its files. */
export interface ManagedCertificate {
  readonly manager: CertificateManager;
  readonly published: PublishedCertificate;
}

/** What all certificates of an agent share. */
export interface CertificateContext {
  readonly settings: AgentSettings;
  readonly metrics: AgentMetrics;
  readonly hooks: HookRunner;
  readonly log: Log;
  /** Opens a failure log whose present failures the status shows. */
  readonly failureLog: OpenFailureLog;
  /** The server's time. */
  readonly serverClock: Clock;
  /** A clock that changes of the system time do not affect. */
  readonly monotonic: Clock;
  /** Returns random numbers from 0 to 1, as `Math.random` does. */
  readonly random: () => number;
  readonly sleep: Sleep;
  /** Emits the name of a certificate after it was put into use. */
  readonly certificateInstalled: EventTarget;
}

type CertificateParts = Pick<CertificateManagerOptions, "name" | "mustReplace" | "requestClient"> & {
  readonly onInstalled?: CertificateManagerOptions["onInstalled"];
  /** Undefined: it is one of the node's own certificates. */
  readonly service?: ServiceCertificate;
};

/** What the names of requests for the node's own certificates begin with. */
export const nodeRequestPrefix = "node-csr-";

export const certificatesFolder = ({ dataDirectory }: Pick<AgentSettings, "dataDirectory">): string =>
  join(dataDirectory, "pki");

/** Reads the certificate in the data directory, if there is one. The `run` methods of both parts keep it and its files up to date. */
export function managedCertificate(
  { settings, metrics, hooks, certificateInstalled, serverClock, ...context }: CertificateContext,
  { name, service, onInstalled, ...identity }: CertificateParts,
): ManagedCertificate {
  const { sleep, log, failureLog } = context;
  const store = new CertificateStore(certificatesFolder(settings), name);
  const manager = new CertificateManager({
    ...context,
    ...identity,
    name,
    store,
    clock: serverClock,
    lifetimeSeconds: service === undefined ? settings.certificateLifetimeSeconds : service.lifetimeSeconds,
    renewalShare: service?.renewalShare,
    requestPrefix: service === undefined ? nodeRequestPrefix : `${name}-csr-`,
    onInstalled(pair) {
      metrics.certificateInstalled(name);
      metrics.certificateInUse(name, pair.certificate);
      onInstalled?.(pair);
      published.publish();
      certificateInstalled.dispatchEvent(new Event(name));
    },
    onFailed: () => metrics.certificateFailed(name),
  });
  const published = new PublishedCertificate({
    name,
    current: () => manager.current,
    file: store.file,
    restore: () => manager.restore(),
    outputs: service?.outputs ?? [],
    hook: service?.hook ?? settings.hook,
    hooks,
    failureLog,
    sleep,
    log,
  });
  if (manager.current !== undefined) metrics.certificateInUse(name, manager.current.certificate);
  return { manager, published };
}
