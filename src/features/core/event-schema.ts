import { objectFields } from "../../machinery/schema/meta-schemas.ts";
import { int32, microTime, object, string, time } from "../../machinery/schema/schema.ts";
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
