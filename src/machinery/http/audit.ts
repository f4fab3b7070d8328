import type { Clock } from "../api/clock.ts";
import type { HttpRequest } from "../api/http-message.ts";
import type { UserInfo } from "../api/user-info.ts";
import type { AnsweredRequest } from "./request-chain.ts";
import { shortenedTo, requestUri } from "./request-uri.ts";

export interface AuditOptions {
  readonly clock: Clock;
  /** Appends one line of JSON, including its newline. Must not block. */
  write(line: string): void;
}

/** Receives every request when it is answered, and a watch a second time when it ends. */
export interface AuditLog {
  answered(request: AnsweredRequest): void;
  streamEnded(request: AnsweredRequest): void;
}

/**
 * Writes who did what to which object, and who allowed it, as events of `audit.k8s.io/v1` at upstream's level Metadata:
 * without bodies and headers. Only the API's own query parameters are written, because others may contain a token by
 * mistake. A watch has two events with the same id (ResponseStarted, ResponseComplete); every other request has one. In
 * both naming profiles, the event's kind and annotation keys are upstream's.
 */
export function createAuditLog({ clock, write }: AuditOptions): AuditLog {
  const writeEvent = (stage: "ResponseStarted" | "ResponseComplete", answered: AnsweredRequest): void => {
    const { auditId, request, info, authenticatedUser, user, seconds } = answered;
    const now = clock.now();
    const userAgent = request.headers["user-agent"];
    const event = {
      kind: "Event",
      apiVersion: "audit.k8s.io/v1",
      level: "Metadata",
      auditID: auditId,
      stage,
      requestURI: requestUri(request),
      verb: info?.verb ?? "",
      user: authenticatedUser ? auditUser(authenticatedUser) : {},
      impersonatedUser: user && user !== authenticatedUser ? auditUser(user) : undefined,
      sourceIPs: [request.connection.remoteAddress],
      userAgent: userAgent === undefined ? undefined : shortenedTo(String(userAgent), longestUserAgent),
      objectRef: info && info.kind !== "path" ? objectReference(answered, info) : undefined,
      responseStatus: responseStatus(answered),
      requestReceivedTimestamp: microTimestamp(now - seconds * 1000),
      stageTimestamp: microTimestamp(now),
      annotations: annotations(answered),
    };
    write(`${JSON.stringify(event)}\n`);
  };
  return {
    answered: (request) => writeEvent(isStream(request) ? "ResponseStarted" : "ResponseComplete", request),
    streamEnded: (request) => writeEvent("ResponseComplete", request),
  };
}

/** RFC 3339 with microseconds, as readers of audit events expect. */
const microTimestamp = (milliseconds: number): string => `${new Date(milliseconds).toISOString().slice(0, -1)}000Z`;

const isStream = ({ response: { body } }: AnsweredRequest): boolean => typeof body === "object" && "start" in body;

/** Upstream's limit. */
const longestUserAgent = 1024;

const auditUser = ({ username, uid, groups, extra }: UserInfo): object => ({ username, uid, groups, extra });

type ObjectInfo = Exclude<NonNullable<AnsweredRequest["info"]>, { readonly kind: "path" }>;

/** The path of a create contains no name, and no path contains the uid: they come from the object in the answer. */
function objectReference(
  { response: { audited } }: AnsweredRequest,
  { resource, namespace, name, group, version, subresource }: ObjectInfo,
): object {
  const object = audited?.object;
  return {
    resource,
    namespace: namespace || undefined,
    name: name || object?.name,
    uid: object?.uid,
    apiGroup: group || undefined,
    apiVersion: version,
    resourceVersion: object?.resourceVersion,
    subresource: subresource || undefined,
  };
}

/** Without a failure's message: it may quote the caller's input. */
function responseStatus({ request, authenticatedUser, response: { status, audited } }: AnsweredRequest): object {
  if (status < 400) return { metadata: {}, code: status };
  const isUnauthenticated = status === 401 && authenticatedUser === undefined;
  return {
    metadata: {},
    status: "Failure",
    message: isUnauthenticated ? `Authentication failed, attempted: ${attemptedCredentials(request)}` : undefined,
    reason: audited?.reason,
    code: status,
  };
}

/** The kinds of credentials in a request (upstream: `getAuthMethods`). */
function attemptedCredentials({ headers, connection }: HttpRequest): string {
  const scheme = /^(basic|bearer) /i.exec(String(headers["authorization"] ?? ""))?.[1]?.toLowerCase();
  const kinds = [scheme, connection.peerCertificates.length > 0 ? "x509" : undefined];
  return kinds.filter((kind) => kind !== undefined).join(", ");
}

/** Undefined when there was no authorization decision. */
function annotations({ decision }: AnsweredRequest): object | undefined {
  if (decision === undefined) return undefined;
  return {
    "authorization.k8s.io/decision": decision.decision === "allow" ? "allow" : "forbid",
    "authorization.k8s.io/reason": decision.reason,
  };
}
