import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import type { Flags, FlagValues } from "../../machinery/command-line/settings/flag.ts";

/** The flags of `signet serve` and `signet controllers` about nodes. */
export const nodeFlags = {
  "node-monitor-grace-period": {
    type: "duration",
    default: "50s",
    help: "How long nothing is heard of a node until it is NotReady: neither its Lease nor its status changes.",
  },
  "node-retention": {
    type: "duration",
    help: "How long a NotReady node is kept before its Node is deleted, with its Pods. Default: forever.",
  },
} as const satisfies Flags;

export interface NodeSettings {
  readonly graceMilliseconds: number;
  /** How long lost Nodes are kept. Undefined: forever. */
  readonly retentionMilliseconds: number | undefined;
}

/** Reads the settings of this feature. Throws UsageError for a grace period in which no machine can renew its Lease. */
export function nodeSettings(values: FlagValues<typeof nodeFlags>): NodeSettings {
  const { "node-monitor-grace-period": graceMilliseconds, "node-retention": retentionMilliseconds } = values;
  if (graceMilliseconds < 1000) {
    throw new UsageError(
      "--node-monitor-grace-period must be at least 1s, and longer than machines take to renew their Leases",
    );
  }
  return { graceMilliseconds, retentionMilliseconds };
}
