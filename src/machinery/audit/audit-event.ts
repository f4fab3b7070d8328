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
  readonly sourceIPs?: readonly string[] | undefined;
  readonly userAgent?: string | undefined;
  readonly objectRef?: AuditedObject | undefined;
  readonly responseStatus?: AuditedStatus | undefined;
  readonly requestObject?: unknown;
  readonly responseObject?: unknown;
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
