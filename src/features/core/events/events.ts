import { eventResource } from "../resources.ts";
import { validateDnsSubdomainName } from "../../../machinery/api/validation/name-validation.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { defineResource } from "../../../machinery/registry/definition/resource-definition.ts";
import type { ResourceDefinition } from "../../../machinery/registry/definition/resource-definition.ts";
import { eventColumns } from "./event-columns.ts";
import { eventSchema, newEventForm } from "./event-schema.ts";
import type { Event } from "./event-schema.ts";
import { isOfNewGroup, validateEvent, validateNewEvent, validateNewEventUpdate } from "./event-validation.ts";

type Selectable = NonNullable<ResourceDefinition<Event>["selectableFields"]>;

const aboutObject = (field: "involvedObject" | "regarding"): Selectable => ({
  [`${field}.kind`]: ({ involvedObject }) => involvedObject.kind ?? "",
  [`${field}.namespace`]: ({ involvedObject }) => involvedObject.namespace ?? "",
  [`${field}.name`]: ({ involvedObject }) => involvedObject.name ?? "",
  [`${field}.uid`]: ({ involvedObject }) => involvedObject.uid ?? "",
  [`${field}.apiVersion`]: ({ involvedObject }) => involvedObject.apiVersion ?? "",
  [`${field}.resourceVersion`]: ({ involvedObject }) => involvedObject.resourceVersion ?? "",
  [`${field}.fieldPath`]: ({ involvedObject }) => involvedObject.fieldPath ?? "",
});

/** The form of events in the group `events` (upstream: `events.k8s.io/v1`), which today's recorders use. */
const newEvents = {
  ...newEventForm,
  validateName: validateDnsSubdomainName,
  allowsShortFinalizers: false,
  selectableFields: {
    ...aboutObject("regarding"),
    reason: ({ reason }) => reason ?? "",
    reportingController: ({ reportingComponent }) => reportingComponent,
    type: ({ type }) => type ?? "",
  } satisfies Selectable,
};

/**
 * Reports from controllers and node agents about their work, for people. `kubectl describe` shows the events of an
 * object.
 */
export const events = (names: Names): ResourceDefinition<Event> =>
  defineResource({
    ...eventResource(names),
    shortNames: ["ev"],
    schema: eventSchema,
    // Users who may only report events must not prevent the writes of others.
    quotaShare: 1 / 4,
    // Any name that is valid in a path: old recorders derive it from the name of any object.
    validateName: () => [],
    allowsShortFinalizers: true,
    // In the core group, the metadata is validated only when there are no other faults.
    validate: (event, context) => [
      ...validateEvent(event, { context, names }),
      ...(isOfNewGroup(names, context) ? (["metadata", ...validateNewEvent(event)] as const) : noMetadata),
    ],
    validateUpdate: (event, context) => [
      ...validateEvent(event, { context, names }),
      ...(isOfNewGroup(names, context)
        ? (["metadata change", ...validateNewEventUpdate(event, context.previous)] as const)
        : noMetadata),
    ],
    allowsCreateOnUpdate: true,
    isReadFromStorage: true,
    propagationOf: () => "unsupported", // an Event cannot own anything
    alsoServedAs: names.hasUpstreamVersions ? [{ group: names.group("events"), version: "v1", ...newEvents }] : [],
    selectableFields: {
      ...aboutObject("involvedObject"),
      reason: ({ reason }) => reason ?? "",
      reportingComponent: ({ reportingComponent }) => reportingComponent,
      source: ({ source, reportingComponent }) => source.component ?? reportingComponent,
      type: ({ type }) => type ?? "",
    },
    columns: eventColumns(names),
  });

const noMetadata = ["no metadata"] as const;
