import type { Names } from "../../../machinery/api/names.ts";
import { nameDescription } from "../../../machinery/registry/definition/columns.ts";
import { ageOf } from "../../../machinery/registry/definition/human-duration.ts";
import type { Column } from "../../../machinery/registry/definition/resource-definition.ts";
import type { Event } from "./event-schema.ts";

/** The columns of Events in tables (upstream: `printEvent`). */
export const eventColumns = (names: Names): readonly Column<Event>[] => [
  {
    name: "Last Seen",
    description: "The time at which the most recent occurrence of this event was recorded.",
    cell: (event, { now }) => ageOf(lastSeen(event), now),
  },
  {
    name: "Type",
    description: "Type of this event (Normal, Warning), new types could be added in the future",
    cell: ({ type }) => type ?? "",
  },
  {
    name: "Reason",
    description:
      "This should be a short, machine understandable string that gives the reason for the transition into the object's current status.",
    cell: ({ reason }) => reason ?? "",
  },
  {
    name: "Object",
    description: "The object that this event is about.",
    cell: ({ involvedObject: { kind = "", name = "" } }) => kind.toLowerCase() + (name === "" ? "" : `/${name}`),
  },
  {
    name: "Subobject",
    isWide: true,
    description:
      'If referring to a piece of an object instead of an entire object, this string should contain a valid JSON/Go field access statement, such as desiredState.manifest.containers[2]. For example, if the object reference is to a container within a pod, this would take on a value like: "spec.containers{name}" (where "name" refers to the name of the container that triggered the event) or if no container name is specified "spec.containers[2]" (container with index 2 in this pod). This syntax is chosen only to have some well-defined way of referencing a part of an object.',
    cell: ({ involvedObject }) => involvedObject.fieldPath ?? "",
  },
  {
    name: "Source",
    isWide: true,
    description: "The component reporting this event. Should be a short machine understandable string.",
    cell({ source, reportingComponent, reportingInstance }) {
      const component = source.component || reportingComponent || "";
      const instance = source.host || reportingInstance || "";
      return instance === "" ? component : `${component}, ${instance}`;
    },
  },
  {
    name: "Message",
    description: "A human-readable description of the status of this operation.",
    cell: ({ message }) => (message ?? "").trim(),
  },
  {
    name: "First Seen",
    isWide: true,
    description: "The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)",
    cell: ({ firstTimestamp, eventTime }, { now }) => ageOf(firstTimestamp ?? eventTime ?? undefined, now),
  },
  {
    name: "Count",
    isWide: true,
    description: "The number of times this event has occurred.",
    cell: ({ count, series }) => (series === undefined ? count || 1 : (series.count ?? 0)),
  },
  {
    name: "Name",
    format: "name",
    isWide: true,
    description: nameDescription(names),
    cell: ({ metadata }) => metadata.name ?? "",
  },
];

const lastSeen = ({ series, lastTimestamp, firstTimestamp, eventTime }: Event): string | undefined =>
  (series === undefined ? (lastTimestamp ?? firstTimestamp ?? eventTime) : series.lastObservedTime) ?? undefined;
