import type { Clock, Sleep } from "../machinery/api/clock.ts";
import type { Names } from "../machinery/api/names.ts";
import type { AgentListener } from "./agent-listener.ts";
import type { AgentMetrics } from "./agent-metrics.ts";
import type { AgentSettings, ServiceCertificate } from "./agent-settings.ts";
import type { OpenFailureLog } from "./failure-log.ts";
import type { ManagedCertificate } from "./managed-certificate.ts";
import type { NodeIdentity } from "./node-identity.ts";
import type { ServerClock } from "./server-clock.ts";
import type { TrustBundleFollowerOptions, TrustBundleState } from "./trust-bundle-follower.ts";
import type { Log } from "../machinery/logging/log.ts";

/** What the loops of an agent share. */
export interface AgentParts {
  readonly settings: AgentSettings;
  readonly version: string;
  readonly log: Log;
  readonly metrics: AgentMetrics;
  readonly identity: NodeIdentity;
  readonly serverClock: ServerClock;
  /** A clock that is never set. */
  readonly monotonic: Clock;
  readonly random: () => number;
  readonly sleep: Sleep;
  readonly listener: AgentListener;
  readonly client: ManagedCertificate;
  readonly serving: ManagedCertificate;
  readonly services: readonly (ManagedCertificate & { readonly service: ServiceCertificate })[];
  /** Says what the file of a trust bundle contains. */
  readonly onTrustBundle: TrustBundleFollowerOptions["onContents"];
  readonly onAnchors: (file: string, state: TrustBundleState) => void;
  /** The status shows what fails in such a log. */
  readonly failureLog: OpenFailureLog;
  /** Emits the name of a certificate after it was put into use. */
  readonly certificateInstalled: EventTarget;
}

/** The same, once the server's naming profile is known. */
export interface NodeParts extends AgentParts {
  readonly names: Names;
}
