import { timestamp } from "../api/clock.ts";
import type { Clock } from "../api/clock.ts";
import type { UserInfo } from "../api/user-info.ts";
import type { AnsweredRequest } from "./chain.ts";

export interface AuditOptions {
  readonly clock: Clock;
  /** Appends one line of JSON; must not block. */
  write(line: string): void;
}

/** Writes who did what to which object, at upstream's level Metadata: no bodies, no headers, no query values. */
export function createAuditLog({ clock, write }: AuditOptions): (answered: AnsweredRequest) => void {
  return (answered) => {
    const { auditId, request, info, authenticatedUser, user, response, seconds } = answered;
    const now = clock.now();
    const userAgent = request.headers["user-agent"];
    const event = {
      kind: "Event",
      apiVersion: "audit.k8s.io/v1",
      level: "Metadata",
      auditID: auditId,
      stage: "ResponseComplete",
      requestURI: request.path,
      verb: info?.verb ?? "",
      user: authenticatedUser && auditUser(authenticatedUser),
      impersonatedUser: user && user !== authenticatedUser ? auditUser(user) : undefined,
      sourceIPs: [request.connection.remoteAddress],
      userAgent: userAgent === undefined ? undefined : String(userAgent),
      objectRef: info && info.kind !== "path" ? objectReference(info) : undefined,
      responseStatus: { metadata: {}, code: response.status },
      requestReceivedTimestamp: timestamp(now - seconds * 1000),
      stageTimestamp: timestamp(now),
    };
    write(`${JSON.stringify(event)}\n`);
  };
}

const auditUser = ({ username, uid, groups, extra }: UserInfo): object => ({ username, uid, groups, extra });

type ObjectInfo = Exclude<NonNullable<AnsweredRequest["info"]>, { readonly kind: "path" }>;

const objectReference = ({ resource, namespace, name, group, version, subresource }: ObjectInfo): object => ({
  resource,
  namespace: namespace || undefined,
  name: name || undefined,
  apiGroup: group || undefined,
  apiVersion: version,
  subresource: subresource || undefined,
});
