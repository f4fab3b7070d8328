import type { FieldSelector } from "./selectors/field-selector.ts";
import type { LabelSelector } from "./selectors/label-selector.ts";
import type { ApiObject } from "./object-meta.ts";
import type { UserInfo } from "./user-info.ts";

/** The verbs of resource requests. For other paths the verb is the lower-case HTTP method. */
export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "deletecollection";

/** The input of an authorizer: a request to a resource or to a path (upstream: `authorizer.Attributes`). */
export type AuthorizationAttributes = ResourceAttributes | PathAttributes;

interface UserAttributes {
  readonly user: UserInfo;
  /** Another user, who asks whether this user may do it. Absent: the user asks for itself. */
  readonly askedBy?: UserInfo;
}

export interface ResourceAttributes extends UserAttributes {
  readonly kind: "resource";
  /** A Verb, or a special verb such as `approve`, `sign`, `attest`, `impersonate`, `bind`, `escalate`. */
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** The selector of a list, watch or deletecollection. `metadata.name=NAME` also sets `name`. */
  readonly fieldSelector?: FieldSelector;
  readonly labelSelector?: LabelSelector;
}

export interface PathAttributes extends UserAttributes {
  readonly kind: "path";
  readonly verb: string;
  readonly path: string;
}

/** The answer of an authorizer. When every authorizer answers `noOpinion`, the request is denied. */
export interface Decision {
  readonly decision: "allow" | "deny" | "noOpinion";
  readonly reason: string;
  /** Why part of the rules could not be evaluated. */
  readonly evaluationError?: string;
}

export type Authorize = (attributes: AuthorizationAttributes) => Promise<Decision> | Decision;

/** The input of an admission rule (upstream: `admission.Attributes`). */
export interface AdmissionAttributes {
  readonly operation: "CREATE" | "UPDATE" | "DELETE";
  readonly user: UserInfo;
  /** The group and version that the kind is stored as, whichever the request names. Rules compare with these. */
  readonly group: string;
  readonly version: string;
  /** The group and version in the request's path. Errors show the group. */
  readonly requestedGroup: string;
  readonly requestedVersion: string;
  readonly resource: string;
  /** Empty for the resource itself. */
  readonly subresource: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** The name in the path of the request: empty for a create by POST. */
  readonly pathName: string;
  /** The new object; absent for DELETE. Rules must not modify it. */
  readonly object?: ApiObject | undefined;
  /** The stored object; absent for CREATE. */
  readonly oldObject?: ApiObject | undefined;
  readonly isDryRun: boolean;
  /** Receives the warnings and audit annotations of rules. */
  readonly recorder: AdmissionRecorder;
}

/** What rules say of a write besides their verdict (upstream: `warning.Recorder`, `Attributes.AddAnnotation`). */
export interface AdmissionRecorder {
  /** Adds a sentence to the Warning headers. */
  warn(warning: string): void;
  /** Adds annotations to the request's audit events. Absent when no audit log takes them. */
  annotate?(annotations: Readonly<Record<string, string>>): void;
}

export interface AdmissionRule {
  readonly name: string;
  /** Whether the rule has something to check in this write. If not, the rule is not called. Absent: it checks every write. */
  appliesTo?(attributes: AdmissionAttributes): boolean;
  /** Returns the object to continue with, or undefined to keep the given one. Throws an ApiError to refuse. */
  admit?(attributes: AdmissionAttributes): ApiObject | undefined | Promise<ApiObject | undefined>;
  /** Runs after every `admit` and after validation. Throws an ApiError to refuse. */
  validate?(attributes: AdmissionAttributes): void | Promise<void>;
}
