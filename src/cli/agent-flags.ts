import type { LogFormat } from "../machinery/files/process-log.ts";
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
  readonly logLevel: string;
  readonly logFormat?: LogFormat;
}

export const logFormats: readonly LogFormat[] = ["text", "json"];

export const logLevels = ["debug", "info", "warn", "error", "silent"];
