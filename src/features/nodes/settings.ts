import type { Flags, FlagValues } from "../../machinery/command-line/flag.ts";

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
  /** Undefined: forever. */
  readonly retentionMilliseconds: number | undefined;
}

export const nodeSettings = (values: FlagValues<typeof nodeFlags>): NodeSettings => ({
  graceMilliseconds: values["node-monitor-grace-period"],
  retentionMilliseconds: values["node-retention"],
});
