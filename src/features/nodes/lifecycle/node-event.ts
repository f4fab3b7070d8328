import { microTimestamp, timestamp } from "../../../machinery/api/clock.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { Event } from "../../core/index.ts";
import type { Node } from "../nodes/node-schema.ts";

export interface NodeEventOptions {
  readonly names: Names;
  /** One CamelCase word. */
  readonly reason: string;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** What happened to a node, for `kubectl describe node`. Two events of one reason in a second are one. */
export function nodeEvent({ metadata }: Node, { names, reason, message, now }: NodeEventOptions): Event {
  const { name = "", uid = "" } = metadata;
  const time = timestamp(now);
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${name}.${reason.toLowerCase()}.${Math.floor(now / 1000).toString(16)}`, namespace: "default" },
    involvedObject: { apiVersion: "v1", kind: "Node", name, uid },
    reason,
    message,
    type: "Normal",
    action: reason,
    source: {},
    reportingComponent: `${names.group("signet")}/node-lifecycle`,
    reportingInstance: "node-lifecycle",
    firstTimestamp: time,
    lastTimestamp: time,
    eventTime: microTimestamp(now),
  };
}
