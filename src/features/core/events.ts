import { eventResource } from "./resources.ts";
import { invalidValue, required } from "../../machinery/api/field-error.ts";
import type { FieldError } from "../../machinery/api/field-error.ts";
import { qualifiedNameFaults } from "../../machinery/api/label-validation.ts";
import { validateDnsSubdomainName } from "../../machinery/api/name-validation.ts";
import { spellingsOf } from "../../machinery/api/names.ts";
import type { Names } from "../../machinery/api/names.ts";
import { isSemanticallyEqual } from "../../machinery/api/json-equality.ts";
import { defineResource } from "../../machinery/registry/resource-definition.ts";
import type { HookContext, ResourceDefinition } from "../../machinery/registry/resource-definition.ts";
import { eventColumns } from "./event-columns.ts";
import { eventSchema, newEventForm } from "./event-schema.ts";
import type { Event } from "./event-schema.ts";

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

/** How the group `events` serves them (upstream: `events.k8s.io/v1`), which today's recorders use. */
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
    singular: "event",
    shortNames: ["ev"],
    schema: eventSchema,
    // Who may only report events must not keep others from writing.
    namespaceShare: 1 / 4,
    // Any name that is valid in a path: old recorders make it of the name of any object.
    validateName: () => [],
    allowsShortFinalizers: true,
    // Of an Event of the core group, the metadata is looked at only where nothing else is wrong.
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

const maximumBytes = { reportingInstance: 128, action: 128, reason: 128, message: 1024 } as const;

/** Upstream's rules for `v1` events: an event with an eventTime must name its reporter. */
function validateEvent(
  event: Event,
  { context, names }: { readonly context: HookContext; readonly names: Names },
): FieldError[] {
  const about = event.involvedObject.namespace ?? "";
  const isNew = (event.eventTime ?? null) !== null;
  const homes = isNew ? ["default", names.namespaces.system] : ["default"];
  const fits = about === "" ? homes.includes(context.namespace) : isNew || about === context.namespace;
  const faults = fits
    ? []
    : [invalidValue("involvedObject.namespace", { value: about, detail: "does not match event.namespace" })];
  if (!isNew) return faults;
  const reporter = isOfNewGroup(names, context) ? "reportingController" : "reportingComponent";
  if (event.reportingComponent === "") faults.push(required(reporter, ""));
  const nameFaults = qualifiedNameFaults(event.reportingComponent);
  faults.push(...nameFaults.map((fault) => invalidValue(reporter, { value: event.reportingComponent, detail: fault })));
  for (const field of ["reportingInstance", "action", "reason", "message"] as const) {
    const text = event[field] ?? "";
    if (text === "" && field !== "message") faults.push(required(field, ""));
    if (Buffer.byteLength(text) > maximumBytes[field])
      faults.push(invalidValue(field, { value: "", detail: `can have at most ${maximumBytes[field]} characters` }));
  }
  return faults;
}

const isOfNewGroup = (names: Names, { requestedGroup }: HookContext): boolean =>
  spellingsOf(names, (one) => one.group("events")).includes(requestedGroup);

/** What the group `events` asks of a new event besides (upstream: `ValidateEventCreate`). */
function validateNewEvent(event: Event): FieldError[] {
  const { eventTime, type = "", firstTimestamp, lastTimestamp, count, source } = event;
  const old = {
    firstTimestamp: (firstTimestamp ?? null) !== null,
    lastTimestamp: (lastTimestamp ?? null) !== null,
    count: (count ?? 0) !== 0,
    source: (source.component ?? "") !== "" || (source.host ?? "") !== "",
  };
  return [
    ...validateSeries(event),
    ...((eventTime ?? null) === null ? [required("eventTime", "")] : []),
    ...(type === "Normal" || type === "Warning"
      ? []
      : [invalidValue("type", { value: "", detail: `has invalid value: ${type}` })]),
    ...Object.entries(old).flatMap(([field, isSet]) =>
      isSet ? [invalidValue(field, { value: "", detail: "needs to be unset" })] : [],
    ),
  ];
}

/** What does not change, in upstream's order, and what Go shows where there is none. Upstream looks twice at the reason. */
const fixedFields: readonly (readonly [field: keyof Event, none: unknown])[] = [
  ["involvedObject", null],
  ["reason", ""],
  ["message", ""],
  ["source", null],
  ["firstTimestamp", null],
  ["lastTimestamp", null],
  ["count", 0],
  ["reason", ""],
  ["type", ""],
  ["eventTime", null],
  ["action", ""],
  ["related", null],
  ["reportingComponent", ""],
  ["reportingInstance", ""],
];

/** The value of a field as Go's JSON shows upstream's internal struct, whose members have no names of their own. */
function goStructOf(field: keyof Event, event: Event): unknown {
  if (field === "source") return { Component: event.source.component ?? "", Host: event.source.host ?? "" };
  if (field !== "involvedObject" && field !== "related") return event[field];
  const reference = event[field];
  if (reference === undefined) return undefined;
  const {
    kind = "",
    namespace = "",
    name = "",
    uid = "",
    apiVersion = "",
    resourceVersion = "",
    fieldPath = "",
  } = reference;
  return {
    Kind: kind,
    Namespace: namespace,
    Name: name,
    UID: uid,
    APIVersion: apiVersion,
    ResourceVersion: resourceVersion,
    FieldPath: fieldPath,
  };
}

/** Only the series of such an event changes (upstream: `ValidateEventUpdate`). */
function validateNewEventUpdate(next: Event, previous: Event): FieldError[] {
  return [
    ...(isSemanticallyEqual(next.series, previous.series) ? [] : validateSeries(next)),
    ...fixedFields
      .filter(([field]) => !isSemanticallyEqual(next[field], previous[field]))
      .map(([field, none]) =>
        invalidValue(field === "reportingComponent" ? "reportingController" : field, {
          value: goStructOf(field, next) ?? none,
          detail: "field is immutable",
        }),
      ),
  ];
}

const validateSeries = ({ series }: Event): FieldError[] =>
  series === undefined
    ? []
    : [
        ...((series.count ?? 0) < 2
          ? [invalidValue("series.count", { value: "", detail: "should be at least 2" })]
          : []),
        ...((series.lastObservedTime ?? null) === null ? [required("series.lastObservedTime", "")] : []),
      ];
