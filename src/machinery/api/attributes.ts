import type { FieldSelector } from "./field-selector.ts";
import type { ApiObject } from "./object-meta.ts";
import type { UserInfo } from "./user-info.ts";

/** The verbs of resource requests; for paths outside the API the verb is the lower-case HTTP method. */
export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "deletecollection";

/** What an authorizer decides on: a request to a resource or to a path (upstream: `authorizer.Attributes`). */
export type AuthorizationAttributes = ResourceAttributes | PathAttributes;

export interface ResourceAttributes {
  readonly kind: "resource";
  readonly user: UserInfo;
  /** A Verb, or a word of its own such as `approve`, `sign`, `attest`, `impersonate`, `bind`, `escalate`. */
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** What a list, watch or deletecollection selects by; `metadata.name=NAME` also gives it the name. */
  readonly fieldSelector?: FieldSelector;
}

export interface PathAttributes {
  readonly kind: "path";
  readonly user: UserInfo;
  readonly verb: string;
  readonly path: string;
}

/** An authorizer's word. `noOpinion` everywhere in the chain means denied. */
export interface Decision {
  readonly decision: "allow" | "deny" | "noOpinion";
  readonly reason: string;
  /** Why part of the rules could not be evaluated. */
  readonly evaluationError?: string;
}

export type Authorize = (attributes: AuthorizationAttributes) => Promise<Decision> | Decision;

/** What an admission rule decides on (upstream: `admission.Attributes`). */
export interface AdmissionAttributes {
  readonly operation: "CREATE" | "UPDATE" | "DELETE";
  readonly user: UserInfo;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** "" for the resource itself. */
  readonly subresource: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** The new object; absent for DELETE. Rules must not change it. */
  readonly object?: ApiObject;
  /** The stored object; absent for CREATE. */
  readonly oldObject?: ApiObject;
  readonly isDryRun: boolean;
}

/** One admission rule. */
export interface AdmissionRule {
  readonly name: string;
  /** Returns the object to go on with; undefined: the one that was given. Throws an ApiError to refuse. */
  admit?(attributes: AdmissionAttributes): ApiObject | undefined | Promise<ApiObject | undefined>;
  /** Runs after every `admit` and after validation. Throws an ApiError to refuse. */
  validate?(attributes: AdmissionAttributes): void | Promise<void>;
}
