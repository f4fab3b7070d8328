import type { AgentSettings, ServerAccess } from "../../src/agent/agent-settings.ts";

/** Settings of a node n1. A test gives only the settings that it is about. */
export const settingsOf = (
  settings: Partial<AgentSettings> &
    Omit<ServerAccess, "serverName" | "followedFiles"> & { readonly dataDirectory: string },
): AgentSettings => ({
  nodeName: "n1",
  followedFiles: [],
  listenAddress: "127.0.0.1",
  port: 0,
  nodeIpAddresses: [],
  dnsNames: [],
  trustBundles: [],
  certificates: [],
  hook: undefined,
  certificateLifetimeSeconds: undefined,
  leaseDurationSeconds: 40,
  log: { level: "silent", format: undefined },
  ...settings,
});
