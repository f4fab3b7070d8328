import type { KindFault } from "./kind-faults.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import type { UserInfo } from "../../api/user-info.ts";
import type { Verb } from "../../api/attributes.ts";
import type { ObjectSchema } from "../../schema/schema.ts";
import { apiVersionOf } from "../../api/resource-type.ts";
import type { GroupVersion, GroupVersionKind, ResourceType } from "../../api/resource-type.ts";

/**
 * A stored kind, as data and pure functions. Hooks run in upstream's order. Create: decode, default, mutating
 * admission, prepareForCreate, validate, warningsOnCreate, validating admission, store. Update: mutating admission,
 * prepareForUpdate, validateUpdate, warningsOnUpdate, validating admission, store. Hooks return new values and do not
 * change their inputs.
 */
export interface ResourceDefinition<T extends ApiObject = ApiObject> extends ResourceType<T> {
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** Default: every verb. */
  readonly verbs?: readonly Verb[];
  readonly schema: ObjectSchema<T>;
  /** Validates the name of `object`. Returns the faults. `isPrefix`: the name is a generateName. */
  validateName(name: string, options: { readonly isPrefix: boolean; readonly object: T }): string[];

  /**
   * Whether finalizers may be names without a domain other than Kubernetes' own. Upstream allows them for kinds whose metadata it
   * validates without the additional rules of the core kinds. Default false.
   */
  readonly allowsShortFinalizers?: boolean;

  /** Clears fields that clients must not set, and sets fields that the server derives. */
  prepareForCreate?(object: T, context: HookContext): T;
  /**
   * Sets defaults that depend on other fields (fixed defaults are in the schema). Runs after decoding, before
   * prepareForCreate.
   */
  setDefaults?(object: T, context: DefaultsContext): T;
  /** Returns every fault of a new object, without those of its metadata. */
  validate?(object: T, context: HookContext): KindFault[];
  /**
   * In place of `validate`, for a check that would block the event loop: makes the check in the thread pool or in turns, and resolves
   * with a function that returns every fault.
   */
  startValidation?(object: T, context: HookContext): Promise<() => KindFault[]>;
  warningsOnCreate?(object: T): string[];
  /** Completes a new object after its validation, so that added fields are not validated (upstream: `Canonicalize`). */
  canonicalize?(object: T): T;

  prepareForUpdate?(next: T, context: UpdateContext<T>): T;
  /** Returns every fault of a changed object, also in its unchanged fields. */
  validateUpdate?(next: T, context: UpdateContext<T>): KindFault[];
  /** As `startValidation`, in place of `validateUpdate`. */
  startUpdateValidation?(next: T, context: UpdateContext<T>): Promise<() => KindFault[]>;
  warningsOnUpdate?(next: T, context: UpdateContext<T>): string[];
  /** Whether a PUT or an apply of a missing object creates it (upstream: AllowCreateOnUpdate). Default false. */
  readonly allowsCreateOnUpdate?: boolean;
  /** Whether upstream has no watch cache for the kind, so that a list's `limit` applies at resourceVersion 0 too. Default false. */
  readonly isReadFromStorage?: boolean;
  /** Whether an update may leave out resourceVersion (upstream: AllowUnconditionalUpdate). Default true. */
  readonly allowsUnconditionalUpdate?: boolean;

  /**
   * Returns the object to keep instead of removing it (graceful deletion, as for a terminating Namespace), or undefined
   * to remove it. The registry handles metadata.finalizers, and also deletionTimestamp unless this hook sets it. Called
   * again whenever an update empties the metadata.finalizers of an object that is being deleted.
   */
  prepareForDelete?(object: T, context: HookContext): T | undefined;
  /**
   * Returns an object's grace period: how many seconds it stays after its deletion (upstream: `CheckGracefulDelete`). `requested` is the
   * period that the client asks for. Every object of such a kind is marked as being deleted before it is removed, also with a period of 0.
   * Default: objects have no grace period.
   */
  gracePeriodSeconds?(object: T, requested: number | undefined): number;
  /**
   * What the propagation policy of a deletion does to an object. `followed` (the default): it adds or removes the
   * finalizers for the garbage collector. `unsupported`: the kind owns nothing, so no deletion leaves these finalizers
   * (upstream: `rest.Unsupported`). `ignored`: the object stays as it is.
   */
  propagationOf?(object: T): "followed" | "unsupported" | "ignored";
  /** The propagation policy that `orphanDependents: false` means. Default: Background; upstream's namespaces differ. */
  readonly policyWithoutOrphans?: "Foreground";
  /**
   * What `details.kind` of the 409 contains when a deletion's precondition fails. Default: the kind. Upstream's
   * namespaces check preconditions separately and name the resource.
   */
  readonly failedPreconditionNames?: "kind" | "resource";
  /**
   * Whether a removal returns the removed object instead of a Status (upstream: ReturnDeletedObject). Default false.
   */
  readonly answersDeletedObject?: boolean;
  /** Whether deleting a collection returns a Status instead of the list of deleted objects. Default false. */
  readonly answersStatusOfDeletedCollection?: boolean;
  /** The releases of the API (`v1.37`) in which this version is deprecated and removed. Every answer then has a warning. */
  readonly deprecation?: Deprecation;
  /** The other groups and versions that serve the same objects. */
  readonly alsoServedAs?: readonly FurtherVersion<T>[];
  /** The top-level fields whose names in this version differ from the stored names. */
  readonly renames?: FieldRenames;
  /** The group and version that the kind is stored as, if this definition serves it under another group or version. */
  readonly storedAs?: GroupVersion;

  /**
   * Returns the user whose StorageQuota a cluster-scoped object counts against, which must never change. A user's quota is as large as a
   * namespace's. Default: no quota limits the objects.
   */
  quotaUserOf?(object: T): string;
  /** The part of a namespace's or user's StorageQuota that objects of the kind may take. Default 1: all of it. */
  readonly quotaShare?: number;

  readonly subresources?: Readonly<Record<string, Subresource<T>>>;
  /** Whether objects contain secrets, so that the audit log never has their bodies, whatever its policy says. */
  readonly isConfidential?: true;
  /**
   * Field selectors in addition to metadata.name and metadata.namespace. A cluster-scoped kind with such fields does not support
   * metadata.namespace (upstream).
   */
  readonly selectableFields?: Readonly<Record<string, (object: T) => string>>;
  /** Returns the value of a selectable field as selectors compare it, so that both spellings of a name are equal. Default: unchanged. */
  comparedAs?(field: string, value: string): string;
  /** All columns of a table, in order, with the descriptions that upstream sends: clients compare whole tables. */
  readonly columns: readonly Column<T>[];
  /** Whether the rows of an empty table are null: upstream has no columns of its own for the kind. Default: an empty list. */
  readonly emptyTableHasNullRows?: boolean;
  /** Returns the conditions of an object's table row, which are for programs. Default: none. */
  rowConditions?(object: T): readonly RowCondition[];
  /**
   * Paths that no manager can own through a write of the main resource, such as `["status"]` (upstream: GetResetFields).
   */
  readonly resetFields?: readonly (readonly string[])[];
}

/** Upstream: `metav1.TableRowCondition`. */
export interface RowCondition {
  readonly type: "Completed";
  readonly status: "True";
  readonly reason: string;
  readonly message: string;
}

/** Top-level fields that a version renames: from the version's name to the stored name. */
export type FieldRenames = Readonly<Record<string, string>>;

/** The releases of Kubernetes in which a version becomes deprecated and is removed, such as `1.40`. */
interface Deprecation {
  readonly deprecatedIn: string;
  readonly unavailableIn: string;
}

/**
 * Another group and version under which the objects of a kind are served. The stored form contains neither, so an object can be
 * read and written under each of them. The `definition` of that version's registry is the kind's, with these parts replaced.
 */
interface FurtherVersion<T extends ApiObject> extends GroupVersion {
  /** Default: the schema of the stored kind. A different schema has the same fields, perhaps with other names (`renames`). */
  readonly schema?: ObjectSchema<T>;
  readonly renames?: FieldRenames;
  /** Default: those of the stored kind. */
  readonly selectableFields?: Readonly<Record<string, (object: T) => string>>;
  /** Default: as in the stored kind. */
  readonly allowsShortFinalizers?: boolean;
  readonly deprecation?: Deprecation;
}

interface Now {
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface DefaultsContext extends Now {
  /** The group in the request. Errors show it, and it decides how reviews spell names in their answers. */
  readonly requestedGroup: string;
}

export interface HookContext extends DefaultsContext {
  readonly user: UserInfo;
  readonly namespace: string;
  readonly isDryRun: boolean;
}

export interface UpdateContext<T extends ApiObject> extends HookContext {
  /** The stored object. */
  readonly previous: T;
}

type Subresource<T extends ApiObject> = UpdateSubresource<T> | CreateSubresource;

/** A view of the same object with its own update rules: get, update and patch. */
export interface UpdateSubresource<T extends ApiObject> {
  readonly type: "update";
  /** Default: get, update, patch. */
  readonly verbs?: readonly ("get" | "update" | "patch")[];
  /** Whether clients may request a table. Default true. */
  readonly allowsTable?: boolean;
  prepareForUpdate(next: T, context: UpdateContext<T>): T;
  validateUpdate?(next: T, context: UpdateContext<T>): KindFault[];
  /** As `startValidation`, in place of `validateUpdate`. */
  startUpdateValidation?(next: T, context: UpdateContext<T>): Promise<() => KindFault[]>;
  /**
   * Whether the StorageQuota applies to a write that makes the object longer, as it does to writes of the object itself. Default: it does
   * not, because a status reports facts, and its writer is trusted.
   */
  isBounded?(next: T): boolean;
  readonly resetFields?: readonly (readonly string[])[];
}

/**
 * A subresource that can only be created. It has a kind of its own, and is never stored (`serviceaccounts/token`). The server sets the
 * function that answers it at its start, with `ResourceRegistry.answerSubresource`.
 */
export interface CreateSubresource extends GroupVersionKind {
  readonly type: "create";
  /** Other groups and versions of the kind. All have the same path: the body says which one the client wants. */
  readonly otherVersions?: readonly GroupVersion[];
  readonly schema: ObjectSchema<ApiObject>;
  /** The paths of fields that the audit log never contains, such as `["status", "token"]`. */
  readonly confidentialFields?: readonly (readonly string[])[];
}

export interface Column<T extends ApiObject> {
  readonly name: string;
  /** Default: string. */
  readonly type?: "integer" | "date";
  /** `name` for the column of the name, otherwise empty. */
  readonly format?: string;
  readonly description: string;
  /** Whether only wide output shows it. */
  readonly isWide?: true;
  cell(object: T, context: Now): string | number | null;
}

/** The group and version that a kind is stored as, of any of its definitions. */
export const storedAs = ({
  group,
  version,
  storedAs: stored,
}: GroupVersion & { readonly storedAs?: GroupVersion }): GroupVersion => stored ?? { group, version };

interface NamedKind {
  readonly group: string;
  readonly kind: string;
  readonly storedAs?: GroupVersion;
}

/**
 * The name of upstream's internal Go type, as upstream's errors show it: `core.ServiceAccount`, `rbac.RoleList`. The package is named
 * after the group that stores the kind.
 */
export function goTypeName({ group, kind, storedAs }: NamedKind): string {
  const [packageName = ""] = (storedAs?.group ?? group).split(".");
  return `${packageName === "" ? "core" : packageName}.${kind}`;
}

/** Returns the definition. It only infers, from the schema, the type of the objects that hooks and columns get. */
export const defineResource = <T extends ApiObject>(definition: ResourceDefinition<T>): ResourceDefinition<T> =>
  definition;

/** The definition of a kind under each group and version that serves it. The stored group and version come first. */
export const servedDefinitions = <T extends ApiObject>(
  definition: ResourceDefinition<T>,
): readonly ResourceDefinition<T>[] => {
  const { deprecation: _deprecation, ...kind } = definition;
  const storedAs = { group: kind.group, version: kind.version };
  return [definition, ...(kind.alsoServedAs ?? []).map((version) => ({ ...kind, ...version, storedAs }))];
};

/** A resource, such as a definition, with the other groups and versions that serve it. */
export interface ServedType extends ResourceType {
  readonly alsoServedAs?: readonly GroupVersion[];
}

/** Whether a kind is served under an apiVersion. A reference to an object may have any of these. */
export const isServedAs = ({ group, version, alsoServedAs = [] }: ServedType, apiVersion: string): boolean =>
  [{ group, version }, ...alsoServedAs].some((served) => apiVersionOf(served) === apiVersion);
