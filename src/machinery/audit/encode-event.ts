import { truncatedAnnotation } from "./audit-event.ts";
import type { AuditEvent } from "./audit-event.ts";

export type AuditFormat = "json" | "legacy";

/** One line without its line break. `hasAnnotations`: annotations are there even if they are empty. */
export function encodeEvent(
  event: AuditEvent,
  { format, hasAnnotations = false }: { readonly format: AuditFormat; readonly hasAnnotations?: boolean },
): string {
  if (format === "legacy") return legacyLine(event);
  return JSON.stringify(hasAnnotations && event.annotations === undefined ? { ...event, annotations: {} } : event);
}

/** The event without its bodies, and an annotation that says so (upstream: the truncating backend). */
export const withoutBodies = (event: AuditEvent): AuditEvent => {
  const { requestObject: _request, responseObject: _response, annotations, ...rest } = event;
  return { ...rest, annotations: { ...annotations, ...truncatedAnnotation } };
};

/** Upstream: `audit.EventString`. */
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

/** As Go's `%q`, for what an event can hold: JSON's escapes, and no character that ends a line for some reader. */
const quoted = (text: string): string => JSON.stringify(text).replace(/[\u007f-\u009f\u2028\u2029]/g, escaped);
const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

const quotedList = (list: readonly string[]): string => list.map(quoted).join(",");
