import type { FieldError } from "../api/field-error.ts";
import type { ApiObject } from "../api/object-meta.ts";
import type { UserInfo } from "../api/user-info.ts";
import type { Verb } from "../api/attributes.ts";
import type { ObjectSchema } from "../schema/schema.ts";

/**
 * A stored kind as data and pure functions. Hooks run in upstream's order: on create decode, default, mutating admission,
 * prepareForCreate, validate, warningsOnCreate, validating admission, store; on update mutating admission,
 * prepareForUpdate, validateUpdate, warningsOnUpdate, validating admission, store. Hooks return values and change nothing
 * that they are given.
 */
export interface ResourceDefinition<T extends ApiObject = ApiObject> {
  /** "" is the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly scope: "Namespaced" | "Cluster";
  /** The default is every verb. */
  readonly verbs?: readonly Verb[];
  readonly schema: ObjectSchema<T>;
  /** What the name of `object` may look like. Returns why it may not; `isPrefix` when it is a generateName. */
  validateName(name: string, options: { readonly isPrefix: boolean; readonly object: T }): string[];

  /** Clears what clients may not set and derives what the server sets. */
  prepareForCreate?(object: T, context: HookContext): T;
  /** Defaults that depend on other fields (plain ones are in the schema). Runs on decoding, before prepareForCreate. */
  setDefaults?(object: T, context: DefaultsContext): T;
  /** Every fault of a new object; metadata is already checked by the registry. */
  validate?(object: T, context: HookContext): FieldError[];
  warningsOnCreate?(object: T): string[];

  prepareForUpdate?(next: T, previous: T, context: HookContext): T;
  /** Every fault of a changed object, those of the unchanged rest included. */
  validateUpdate?(next: T, previous: T, context: HookContext): FieldError[];
  warningsOnUpdate?(next: T, previous: T): string[];
  /** A PUT or an apply of an object that does not exist creates it (upstream: AllowCreateOnUpdate). Default false. */
  readonly allowsCreateOnUpdate?: boolean;
  /** An update may leave out resourceVersion (upstream: AllowUnconditionalUpdate). Default true. */
  readonly allowsUnconditionalUpdate?: boolean;

  /**
   * Returns the object to keep in place of a removal (graceful deletion: a Namespace that terminates), or undefined to
   * remove it. metadata.finalizers are the registry's own work; so is deletionTimestamp, unless this has set it. It is
   * asked again whenever an update empties metadata.finalizers of an object that is being deleted.
   */
  prepareForDelete?(object: T, context: DeleteContext): T | undefined;
  /**
   * What the 409 of a deletion's failed precondition names in its `details.kind`. Default: the kind. Upstream's namespaces
   * check by themselves, in other words, and name the resource.
   */
  readonly failedPreconditionNames?: "kind" | "resource";
  /** A removal answers the removed object instead of a Status (upstream: ReturnDeletedObject). Default false. */
  readonly answersDeletedObject?: boolean;
  /** A deletion of a collection answers a Status instead of the list of what was deleted. Default false. */
  readonly answersStatusOfDeletedCollection?: boolean;
  /** A sentence for the Warning header of every answer about this version of the kind. */
  readonly deprecationWarning?: string;

  readonly subresources?: Readonly<Record<string, Subresource<T>>>;
  /** Field selectors besides metadata.name and metadata.namespace. */
  readonly selectableFields?: Readonly<Record<string, (object: T) => string>>;
  /** Words the refusal of another field selector as upstream does for this kind. Default: `field label not supported: x`. */
  unsupportedFieldLabel?(label: string): string;
  /** Describes the table column `Name`; the default is a short sentence. */
  readonly nameDescription?: string;
  /** Whether the registry puts a column `Name` first. Default true; else the kind has one of its own. */
  readonly isNameColumnFirst?: boolean;
  /** Table columns after Name. Age is a column of the kind. */
  readonly columns: readonly Column<T>[];
  /** Paths that a write of the main resource never owns, such as `["status"]` (upstream: GetResetFields). */
  readonly resetFields?: readonly (readonly string[])[];
}

interface DefaultsContext {
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface HookContext extends DefaultsContext {
  readonly user: UserInfo;
  readonly namespace: string;
  readonly isDryRun: boolean;
}

export interface DeleteContext extends HookContext {
  /** As the request asked for it; absent when it did not, and when an update finishes a deletion. */
  readonly gracePeriodSeconds?: number;
}

type Subresource<T extends ApiObject> = UpdateSubresource<T> | CreateSubresource;

/** A view of the same object with an update strategy of its own: get, update and patch. */
export interface UpdateSubresource<T extends ApiObject> {
  readonly type: "update";
  /** Default get, update, patch. */
  readonly verbs?: readonly ("get" | "update" | "patch")[];
  /** Whether it may be asked for as a table. Default true. */
  readonly allowsTable?: boolean;
  prepareForUpdate(next: T, previous: T, context: HookContext): T;
  validateUpdate?(next: T, previous: T, context: HookContext): FieldError[];
  warningsOnUpdate?(next: T, previous: T): string[];
  readonly resetFields?: readonly (readonly string[])[];
}

/** A subresource that is only created, of a kind of its own and never stored (`serviceaccounts/token`). */
export interface CreateSubresource {
  readonly type: "create";
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly schema: ObjectSchema<ApiObject>;
  create(object: ApiObject, context: ReviewContext): Promise<ReviewAnswer>;
}

/** A kind that is answered and never stored: the reviews. */
export interface ReviewDefinition<T extends ApiObject = ApiObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly scope: "Namespaced" | "Cluster";
  readonly schema: ObjectSchema<T>;
  /** Nothing of the request's metadata is in the answer: who manages its fields need not be worked out. */
  readonly dropsMetadata?: true;
  create(object: T, context: ReviewContext): Promise<ReviewAnswer>;
}

export interface ReviewContext extends HookContext {
  /** The name in the path of a create subresource, else "". */
  readonly name: string;
}

export interface ReviewAnswer {
  readonly object: ApiObject;
  readonly warnings?: readonly string[];
}

export interface Column<T extends ApiObject> {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  /** `name` for the first column, else "". */
  readonly format?: string;
  readonly description: string;
  /** 0: always shown; more: only in wide output. */
  readonly priority?: number;
  cell(object: T, context: DefaultsContext): string | number | boolean | null;
}

/** The kind as upstream's refusals name its internal Go type: `core.ServiceAccount`, `rbac.RoleList`. */
export function goTypeName({ group, kind }: { readonly group: string; readonly kind: string }): string {
  const [packageName = ""] = group.split(".");
  return `${packageName === "" ? "core" : packageName}.${kind}`;
}

/** Keeps the literal and checks it against the kind's type. */
export const defineResource = <T extends ApiObject>(definition: ResourceDefinition<T>): ResourceDefinition<T> =>
  definition;
export const defineReview = <T extends ApiObject>(definition: ReviewDefinition<T>): ReviewDefinition<T> => definition;
