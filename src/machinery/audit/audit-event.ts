import type { UserInfo } from "../api/user-info.ts";

/** How much of a request is recorded, from least to most. */
export const auditLevels = ["None", "Metadata", "Request", "RequestResponse"] as const;
export type AuditLevel = (typeof auditLevels)[number];

export const auditStages = ["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"] as const;
export type AuditStage = (typeof auditStages)[number];

export const auditApiVersion = "audit.k8s.io/v1";

/**
 * `Event` of `audit.k8s.io/v1`, with its fields in upstream's order. `annotations` is last: the hash chain adds to the end
 * of a line. The kind, its group and the annotations have upstream's names in both naming profiles.
 */
export interface AuditEvent {
  readonly kind: "Event";
  readonly apiVersion: typeof auditApiVersion;
  readonly level: AuditLevel;
  readonly auditID: string;
  readonly stage: AuditStage;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: Partial<UserInfo>;
  readonly impersonatedUser?: Partial<UserInfo> | undefined;
  /** The verb of the constrained mode in which the user is impersonated. Undefined: no impersonation, or its mode is not constrained. */
  readonly authenticationMetadata?: { readonly impersonationConstraint: string } | undefined;
  readonly sourceIPs?: readonly string[] | undefined;
  readonly userAgent?: string | undefined;
  readonly objectRef?: AuditedObject | undefined;
  readonly responseStatus?: AuditedStatus | undefined;
  /** The bodies as JSON on one line, which is not parsed again before it is written. */
  readonly requestObject?: string | undefined;
  readonly responseObject?: string | undefined;
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

interface AuditedObject {
  readonly resource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly uid?: string | undefined;
  readonly apiGroup?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly subresource?: string | undefined;
}

interface AuditedStatus {
  readonly metadata: Readonly<Record<string, never>>;
  readonly status?: string | undefined;
  readonly message?: string | undefined;
  readonly reason?: string | undefined;
  readonly details?: unknown;
  readonly code: number;
}

/** Says that a body was left out because it is too large (upstream's truncating backend). */
export const truncatedAnnotation = { "audit.k8s.io/truncated": "true" } as const;

export type AuditFormat = "json" | "legacy";

/** Encodes an event as one line without its line break. `hasAnnotations`: whether the line has annotations even if they are empty. */
export function encodeEvent(
  event: AuditEvent,
  { format, hasAnnotations = false }: { readonly format: AuditFormat; readonly hasAnnotations?: boolean },
): string {
  if (format === "legacy") return legacyLine(event);
  const { requestObject, responseObject, requestReceivedTimestamp, stageTimestamp, annotations, ...head } = event;
  const tail = {
    requestReceivedTimestamp,
    stageTimestamp,
    annotations: hasAnnotations ? (annotations ?? {}) : annotations,
  };
  const bodies =
    (requestObject === undefined ? "" : `,"requestObject":${requestObject}`) +
    (responseObject === undefined ? "" : `,"responseObject":${responseObject}`);
  return `${JSON.stringify(head).slice(0, -1)}${bodies},${JSON.stringify(tail).slice(1)}`;
}

/** The event without its bodies, and an annotation that says so (upstream: the truncating backend). */
export const withoutBodies = (event: AuditEvent): AuditEvent => {
  const { requestObject: _request, responseObject: _response, annotations, ...rest } = event;
  return { ...rest, annotations: { ...annotations, ...truncatedAnnotation } };
};

/** The event in the legacy format (upstream: `audit.EventString`). */
function legacyLine(event: AuditEvent): string {
  const { user, impersonatedUser, objectRef, responseStatus, sourceIPs } = event;
  const groups = user.username && user.groups?.length ? quotedList(user.groups) : "<none>";
  const parts = {
    id: quoted(event.auditID),
    stage: quoted(event.stage),
    ip: quoted(sourceIPs?.[0] ?? "<unknown>"),
    method: quoted(event.verb),
    user: quoted(user.username || "<none>"),
    groups,
    as: quoted(impersonatedUser?.username ?? "<self>"),
    asgroups: impersonatedUser?.groups === undefined ? "<lookup>" : quotedList(impersonatedUser.groups),
    "user-agent": quoted(event.userAgent ?? ""),
    namespace: quoted(objectRef?.namespace ?? "<none>"),
    uri: quoted(event.requestURI),
    response: `"${responseStatus?.code ?? "<deferred>"}"`,
  };
  const words = Object.entries(parts).map(([name, value]) => `${name}=${value}`);
  return `${event.requestReceivedTimestamp} AUDIT: ${words.join(" ")}`;
}

/**
 * A text in quotes, as Go's `%q` for the texts of events: with JSON's escapes, and without characters that some readers take as line ends.
 */
const quoted = (text: string): string => JSON.stringify(text).replace(/[\u007f-\u009f\u2028\u2029]/g, escaped);
const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

const quotedList = (list: readonly string[]): string => list.map(quoted).join(",");
