import { parseDuration } from "../../machinery/api/duration.ts";
import type { LogFormat } from "../../machinery/files/lines/process-log.ts";
import type { ServerAccessFlags } from "./agent-server-access.ts";

/** The settings that are both flags and fields of the configuration file, before they are checked. */
export interface AgentFlags extends ServerAccessFlags {
  readonly nodeName: string;
  readonly dataDir: string;
  readonly listenAddress: string;
  readonly port: string;
  readonly nodeIp: readonly string[];
  readonly dnsName: readonly string[];
  readonly certificateLifetime?: string;
  readonly leaseDuration: string;
  readonly logLevel: string;
  readonly logFormat?: LogFormat;
}

/** The flags of a command line, including those that a configuration file spells differently. */
export interface AgentCommandLine extends AgentFlags {
  readonly config?: string;
  readonly trustBundle: readonly string[];
  readonly onChange?: string;
}

/** Parses the duration of a node's Lease, to seconds. Undefined when it is not valid. */
export function leaseSecondsOf(text: string): number | undefined {
  const seconds = (parseDuration(text) ?? 0) / 1000;
  return seconds >= 10 && seconds <= 86_400 && Number.isInteger(seconds) ? seconds : undefined;
}

export const leaseDurationFault = "must be a duration in whole seconds, from 10s to 24h";
