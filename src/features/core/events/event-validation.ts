import { invalidValue, invalidValues, required } from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { isSemanticallyEqual } from "../../../machinery/api/json/json-equality.ts";
import { qualifiedNameFaults } from "../../../machinery/api/validation/label-validation.ts";
import { spellingsOf } from "../../../machinery/api/names.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { HookContext } from "../../../machinery/registry/definition/resource-definition.ts";
import type { Event } from "./event-schema.ts";

const maximumBytes = { reportingInstance: 128, action: 128, reason: 128, message: 1024 } as const;

/** Returns the faults of `v1` events by upstream's rules. An event with an eventTime must name its reporter. */
export function validateEvent(
  event: Event,
  { context, names }: { readonly context: HookContext; readonly names: Names },
): FieldError[] {
  const about = event.involvedObject.namespace ?? "";
  const isNew = event.eventTime !== null;
  const homes = isNew ? ["default", names.namespaces.system] : ["default"];
  const fits = about === "" ? homes.includes(context.namespace) : isNew || about === context.namespace;
  const faults = fits
    ? []
    : [invalidValue("involvedObject.namespace", { value: about, detail: "does not match event.namespace" })];
  if (!isNew) return faults;
  const reporter = isOfNewGroup(names, context) ? "reportingController" : "reportingComponent";
  if (event.reportingComponent === "") faults.push(required(reporter, ""));
  const nameFaults = qualifiedNameFaults(event.reportingComponent);
  faults.push(...invalidValues(reporter, { value: event.reportingComponent, details: nameFaults }));
  for (const field of ["reportingInstance", "action", "reason", "message"] as const) {
    const text = event[field] ?? "";
    if (text === "" && field !== "message") faults.push(required(field, ""));
    if (Buffer.byteLength(text) > maximumBytes[field])
      faults.push(invalidValue(field, { value: "", detail: `can have at most ${maximumBytes[field]} characters` }));
  }
  return faults;
}

/** Whether the request uses the group `events`, whose rules are stricter than those of the core group. */
export const isOfNewGroup = (names: Names, { requestedGroup }: HookContext): boolean =>
  spellingsOf(names, (one) => one.group("events")).includes(requestedGroup);

/** Returns the additional faults of a new event in the group `events` (upstream: `ValidateEventCreate`). */
export function validateNewEvent(event: Event): FieldError[] {
  const { eventTime, type = "", firstTimestamp, lastTimestamp, count, source } = event;
  const old = {
    firstTimestamp: firstTimestamp !== null,
    lastTimestamp: lastTimestamp !== null,
    count: (count ?? 0) !== 0,
    source: (source.component ?? "") !== "" || (source.host ?? "") !== "",
  };
  return [
    ...validateSeries(event),
    ...(eventTime === null ? [required("eventTime", "")] : []),
    ...(type === "Normal" || type === "Warning"
      ? []
      : [invalidValue("type", { value: "", detail: `has invalid value: ${type}` })]),
    ...Object.entries(old).flatMap(([field, isSet]) =>
      isSet ? [invalidValue(field, { value: "", detail: "needs to be unset" })] : [],
    ),
  ];
}

/** The immutable fields, in upstream's order, and the value that Go shows for a missing one. Upstream checks the reason twice. */
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

/** Returns the faults of an update in the group `events`: only the series may change (upstream: `ValidateEventUpdate`). */
export function validateNewEventUpdate(next: Event, previous: Event): FieldError[] {
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
        ...(series.lastObservedTime === null ? [required("series.lastObservedTime", "")] : []),
      ];
