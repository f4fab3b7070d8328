import { objectFields } from "../../../machinery/schema/meta-schemas.ts";
import { int32, microTime, string, time } from "../../../machinery/schema/schema.ts";
import type { ObjectSchema, Infer } from "../../../machinery/schema/schema.ts";
import { objectReference } from "../../../machinery/schema/object-references.ts";
import { always, omitEmpty, pointer, required, struct } from "../../../machinery/schema/struct.ts";

const eventSource = struct("v1.EventSource", "The program that reports an event.", {
  component: omitEmpty(1, string, "The program's name."),
  host: omitEmpty(2, string, "The node that it runs on."),
});

const eventSeries = struct("v1.EventSeries", "The repetitions of an event.", {
  count: omitEmpty(1, int32, "How often it happened, up to the last report."),
  lastObservedTime: always(2, microTime, "When it happened last."),
});

export const eventSchema = struct(
  "v1.Event",
  "Something that happened to an object, for people to read. Events are deleted after one hour.",
  {
    ...objectFields,
    metadata: { ...objectFields.metadata, isRequired: true },
    involvedObject: required(2, objectReference, "The object that it happened to, in the event's own namespace."),
    reason: omitEmpty(3, string, "The reason as one CamelCase word, for programs."),
    message: omitEmpty(4, string, "The reason in a sentence, for people."),
    source: always(5, eventSource, "The program that reports it."),
    firstTimestamp: always(6, time, "When it was first seen."),
    lastTimestamp: always(7, time, "When it was last seen."),
    count: omitEmpty(8, int32, "How often it was seen."),
    type: omitEmpty(9, string, "Normal or Warning; there may be more."),
    eventTime: always(10, microTime, "When it happened."),
    series: pointer(11, eventSeries, "Set when the event was repeated."),
    action: omitEmpty(12, string, "What was done to the object."),
    related: pointer(13, objectReference, "A second object that is involved."),
    reportingComponent: always(14, string, "The controller that reports it, as a qualified name."),
    reportingInstance: always(15, string, "The instance of that controller."),
  },
);

export type Event = Infer<typeof eventSchema>;

const newEventSeries = struct("v1.EventSeries", "The repetitions of an event.", {
  count: required(1, int32, "How often it happened."),
  lastObservedTime: required(2, microTime, "When it happened last."),
});

/** Gives a type the name that it has in the core group, for use in another group. */
const ofCore = <T>(schema: ObjectSchema<T>): ObjectSchema<T> => ({ ...schema, package: "api.core" });

/** The schema of the same event in the group `events`. */
const newEventSchema = struct(
  "v1.Event",
  "Something that happened to an object, for people to read. Events are deleted after one hour.",
  {
    ...objectFields,
    eventTime: required(2, microTime, "When it happened."),
    series: pointer(3, newEventSeries, "Set when the event was repeated."),
    reportingController: omitEmpty(4, string, "The controller that reports it, as a qualified name."),
    reportingInstance: omitEmpty(5, string, "The instance of that controller."),
    action: omitEmpty(6, string, "What was done to the object."),
    reason: omitEmpty(7, string, "The reason as one CamelCase word, for programs."),
    regarding: always(8, ofCore(objectReference), "The object that it happened to, in the event's own namespace."),
    related: pointer(9, ofCore(objectReference), "A second object that is involved."),
    note: omitEmpty(10, string, "The reason in a sentence, for people."),
    type: omitEmpty(11, string, "Normal or Warning."),
    deprecatedSource: always(12, ofCore(eventSource), "The program that reports it, in events of the core group."),
    deprecatedFirstTimestamp: always(13, time, "When it was first seen, in events of the core group."),
    deprecatedLastTimestamp: always(14, time, "When it was last seen, in events of the core group."),
    deprecatedCount: omitEmpty(15, int32, "How often it was seen, in events of the core group."),
  },
);

/** The schema and the renamed fields with which the group `events` serves the core group's events. */
export const newEventForm = {
  schema: newEventSchema as ObjectSchema as ObjectSchema<Event>, // an Event once its fields are renamed
  renames: {
    reportingController: "reportingComponent",
    regarding: "involvedObject",
    note: "message",
    deprecatedSource: "source",
    deprecatedFirstTimestamp: "firstTimestamp",
    deprecatedLastTimestamp: "lastTimestamp",
    deprecatedCount: "count",
  },
} as const;
