import { objectFields } from "../../machinery/schema/meta-schemas.ts";
import { int32, microTime, object, string, time } from "../../machinery/schema/schema.ts";
import type { ObjectSchema } from "../../machinery/schema/schema.ts";
import type { Infer } from "../../machinery/schema/schema.ts";
import { objectReference } from "../../machinery/schema/object-references.ts";

const eventSource = object({
  goType: "v1.EventSource",
  description: "The program that reports an event.",
  fields: {
    component: { number: 1, schema: string, description: "The program's name." },
    host: { number: 2, schema: string, description: "The node that it runs on." },
  },
});

const eventSeries = object({
  goType: "v1.EventSeries",
  description: "The repetitions of an event.",
  fields: {
    count: { number: 1, schema: int32, description: "How often it happened, up to the last report." },
    lastObservedTime: { number: 2, schema: microTime, presence: "always", description: "When it happened last." },
  },
});

export const eventSchema = object({
  goType: "v1.Event",
  description: "Something that happened to an object, for people to read. Events are deleted after one hour.",
  fields: {
    ...objectFields,
    involvedObject: {
      number: 2,
      schema: objectReference,
      presence: "always",
      isRequired: true,
      description: "The object that it happened to, in the event's own namespace.",
    },
    reason: { number: 3, schema: string, description: "The reason as one CamelCase word, for programs." },
    message: { number: 4, schema: string, description: "The reason in a sentence, for people." },
    source: { number: 5, schema: eventSource, presence: "always", description: "The program that reports it." },
    firstTimestamp: { number: 6, schema: time, presence: "always", description: "When it was first seen." },
    lastTimestamp: { number: 7, schema: time, presence: "always", description: "When it was last seen." },
    count: { number: 8, schema: int32, description: "How often it was seen." },
    type: { number: 9, schema: string, description: "Normal or Warning; there may be more." },
    eventTime: { number: 10, schema: microTime, presence: "always", description: "When it happened." },
    series: {
      number: 11,
      schema: eventSeries,
      presence: "pointer",
      description: "Set when the event was repeated.",
    },
    action: { number: 12, schema: string, description: "What was done to the object." },
    related: {
      number: 13,
      schema: objectReference,
      presence: "pointer",
      description: "A second object that is involved.",
    },
    reportingComponent: {
      number: 14,
      schema: string,
      presence: "always",
      description: "The controller that reports it, as a qualified name.",
    },
    reportingInstance: {
      number: 15,
      schema: string,
      presence: "always",
      description: "The instance of that controller.",
    },
  },
});

export type Event = Infer<typeof eventSchema>;

const newEventSeries = object({
  goType: "v1.EventSeries",
  description: "The repetitions of an event.",
  fields: {
    count: { number: 1, schema: int32, presence: "always", isRequired: true, description: "How often it happened." },
    lastObservedTime: {
      number: 2,
      schema: microTime,
      presence: "always",
      isRequired: true,
      description: "When it happened last.",
    },
  },
});

/** Types of the core group inside another one keep their names. */
const ofCore = <T>(schema: ObjectSchema<T>): ObjectSchema<T> => ({ ...schema, package: "api.core" });

/** The same event as the group `events` has it. */
const newEventSchema = object({
  goType: "v1.Event",
  description: "Something that happened to an object, for people to read. Events are deleted after one hour.",
  fields: {
    ...objectFields,
    eventTime: { number: 2, schema: microTime, presence: "always", isRequired: true, description: "When it happened." },
    series: {
      number: 3,
      schema: newEventSeries,
      presence: "pointer",
      description: "Set when the event was repeated.",
    },
    reportingController: {
      number: 4,
      schema: string,
      description: "The controller that reports it, as a qualified name.",
    },
    reportingInstance: { number: 5, schema: string, description: "The instance of that controller." },
    action: { number: 6, schema: string, description: "What was done to the object." },
    reason: { number: 7, schema: string, description: "The reason as one CamelCase word, for programs." },
    regarding: {
      number: 8,
      schema: ofCore(objectReference),
      presence: "always",
      description: "The object that it happened to, in the event's own namespace.",
    },
    related: {
      number: 9,
      schema: ofCore(objectReference),
      presence: "pointer",
      description: "A second object that is involved.",
    },
    note: { number: 10, schema: string, description: "The reason in a sentence, for people." },
    type: { number: 11, schema: string, description: "Normal or Warning." },
    deprecatedSource: {
      number: 12,
      schema: ofCore(eventSource),
      presence: "always",
      description: "The program that reports it, in events of the core group.",
    },
    deprecatedFirstTimestamp: {
      number: 13,
      schema: time,
      presence: "always",
      description: "When it was first seen, in events of the core group.",
    },
    deprecatedLastTimestamp: {
      number: 14,
      schema: time,
      presence: "always",
      description: "When it was last seen, in events of the core group.",
    },
    deprecatedCount: { number: 15, schema: int32, description: "How often it was seen, in events of the core group." },
  },
});

/** How the group `events` serves the core group's events. */
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
