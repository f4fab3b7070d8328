import type { Verb } from "../../api/attributes.ts";
import type { GroupVersionKind, ResourceType } from "../../api/resource-type.ts";
import { listSchema } from "../meta-schemas.ts";
import type { ObjectSchema } from "../schema.ts";

/** What OpenAPI needs to know about a stored kind or a review. */
export interface DescribedResource extends ResourceType {
  readonly verbs?: readonly Verb[];
  readonly schema: ObjectSchema;
  /** Whether a delete returns the deleted object. Otherwise it returns a Status. */
  readonly answersDeletedObject?: boolean;
  /**
   * Whether deleting a collection returns a Status. Otherwise it returns the list of deleted objects. Reviews cannot be
   * deleted.
   */
  readonly answersStatusOfDeletedCollection?: boolean;
  readonly subresources?: Readonly<Record<string, DescribedSubresource>>;
}

type DescribedSubresource =
  | { readonly type: "update"; readonly verbs?: readonly ("get" | "update" | "patch")[] }
  | {
      readonly type: "create";
      readonly group: string;
      readonly version: string;
      readonly kind: string;
      readonly schema: ObjectSchema;
    };

export type HttpMethod = "get" | "put" | "post" | "delete" | "patch";

/** The kind and schema of a body. */
interface Body {
  readonly schema: ObjectSchema;
  readonly kind: GroupVersionKind;
}

/** One operation, independent of the OpenAPI version. */
export interface Operation extends Pick<Action, "method" | "action" | "parameters" | "statusCodes"> {
  readonly path: string;
  readonly id: string;
  /** Generators of clients make a class of the operations with one tag: `core_v1` is `CoreV1Api`. */
  readonly tag: string;
  readonly description: string;
  readonly kind: GroupVersionKind;
  readonly requestBody?: Body | "patch" | "deleteOptions";
  readonly response: Body | "status" | "watchEvent";
}

interface Action {
  readonly verb: Verb;
  readonly method: HttpMethod;
  /** Upstream's `x-kubernetes-action`. */
  readonly action: string;
  /** The first part of the operation's id. */
  readonly word: string;
  readonly parameters: readonly ParameterName[];
  readonly statusCodes: readonly number[];
}

const selectionParameters: readonly ParameterName[] = [
  "continue",
  "fieldSelector",
  "labelSelector",
  "limit",
  "resourceVersion",
  "resourceVersionMatch",
  "sendInitialEvents",
  "timeoutSeconds",
];
const listParameters: readonly ParameterName[] = ["allowWatchBookmarks", ...selectionParameters, "watch"];
const writeParameters: readonly ParameterName[] = ["dryRun", "fieldManager", "fieldValidation"];
const deleteParameters: readonly ParameterName[] = [
  "dryRun",
  "gracePeriodSeconds",
  "ignoreStoreReadErrorWithClusterBreakingPotential",
  "orphanDependents",
  "propagationPolicy",
];
const deleteCollectionParameters: readonly ParameterName[] = [...deleteParameters, ...selectionParameters];

const list: Action = {
  verb: "list",
  method: "get",
  action: "list",
  word: "list",
  parameters: listParameters,
  statusCodes: [200],
};
/** The watches that have a path of their own: deprecated, but the only ones that a client made from the document knows. */
const watchList: Action = { ...list, verb: "watch", action: "watchlist", word: "watch" };
const watchItem: Action = { ...watchList, action: "watch" };
const create: Action = {
  verb: "create",
  method: "post",
  action: "post",
  word: "create",
  parameters: writeParameters,
  statusCodes: [200, 201, 202],
};
const deleteCollection: Action = {
  verb: "deletecollection",
  method: "delete",
  action: "deletecollection",
  word: "delete",
  parameters: deleteCollectionParameters,
  statusCodes: [200],
};
const get: Action = {
  verb: "get",
  method: "get",
  action: "get",
  word: "read",
  parameters: [],
  statusCodes: [200],
};
const update: Action = {
  verb: "update",
  method: "put",
  action: "put",
  word: "replace",
  parameters: writeParameters,
  statusCodes: [200, 201],
};
const patch: Action = {
  verb: "patch",
  method: "patch",
  action: "patch",
  word: "patch",
  parameters: [...writeParameters, "force"],
  statusCodes: [200, 201],
};
const remove: Action = {
  verb: "delete",
  method: "delete",
  action: "delete",
  word: "delete",
  parameters: deleteParameters,
  statusCodes: [200, 202],
};

const itemActions = [get, update, patch, remove];

/** All operations of a resource and its subresources. `groupWord` is what their ids call the group. */
export function operationsOf(resource: DescribedResource, groupWord = wordOfGroup(resource.group)): Operation[] {
  const root = resource.group === "" ? "/api" : `/apis/${resource.group}`;
  const base = `${root}/${resource.version}`;
  const isNamespaced = resource.scope === "Namespaced";
  const collection = `${base}${isNamespaced ? "/namespaces/{namespace}" : ""}/${resource.plural}`;
  const item = `${collection}/{name}`;
  const watched = (path: string): string => `${base}/watch${path.slice(base.length)}`;
  const idPrefix = `${groupWord}${capitalized(resource.version)}`;
  const idName = `${isNamespaced ? "Namespaced" : ""}${resource.kind}`;
  const body: Body = { schema: resource.schema, kind: kindOf(resource) };
  const serves = ({ verb }: Action): boolean => resource.verbs === undefined || resource.verbs.includes(verb);
  const tag = `${groupWord.charAt(0).toLowerCase()}${groupWord.slice(1)}_${resource.version}`;
  const at = (place: Omit<OperationPlace, "resource" | "tag">) => (action: Action) =>
    operation(action, { ...place, resource, tag });

  const operations = [
    ...[list, create].filter(serves).map(at({ path: collection, id: `${idPrefix}${idName}`, body })),
    ...[deleteCollection].filter(serves).map(at({ path: collection, id: `${idPrefix}Collection${idName}`, body })),
    ...itemActions.filter(serves).map(at({ path: item, id: `${idPrefix}${idName}`, body })),
    ...[watchList].filter(serves).map(at({ path: watched(collection), id: `${idPrefix}${idName}List`, body })),
    ...[watchItem].filter(serves).map(at({ path: watched(item), id: `${idPrefix}${idName}`, body })),
  ];
  if (isNamespaced) {
    const path = `${base}/${resource.plural}`;
    const id = `${idPrefix}${resource.kind}`;
    operations.push(
      ...[list].filter(serves).map(at({ path, id: `${id}ForAllNamespaces`, body })),
      ...[watchList].filter(serves).map(at({ path: watched(path), id: `${id}ListForAllNamespaces`, body })),
    );
  }
  for (const [name, subresource] of Object.entries(resource.subresources ?? {})) {
    const isCreate = subresource.type === "create";
    const subBody = isCreate ? { schema: subresource.schema, kind: kindOf(subresource) } : body;
    const verbs: readonly Verb[] = isCreate ? ["create"] : (subresource.verbs ?? ["get", "update", "patch"]);
    const actions = [create, get, update, patch].filter(({ verb }) => verbs.includes(verb));
    const id = `${idPrefix}${idName}${capitalized(name)}`;
    operations.push(...actions.map(at({ path: `${item}/${name}`, id, body: subBody })));
  }
  return operations;
}

interface OperationPlace {
  readonly path: string;
  readonly id: string;
  readonly tag: string;
  readonly body: Body;
  readonly resource: DescribedResource;
}

function operation(action: Action, { path, id, tag, body, resource }: OperationPlace): Operation {
  const { verb, method, word, parameters, statusCodes } = action;
  const isDelete = verb === "delete" || verb === "deletecollection";
  const isWrite = verb === "create" || verb === "update";
  return {
    path,
    method,
    parameters,
    statusCodes,
    action: action.action,
    kind: body.kind,
    id: `${word}${id}`,
    tag,
    description: `${word} ${verb === "deletecollection" ? "collection of " : ""}${body.kind.kind}${deprecationOf(verb)}`,
    ...(isWrite && { requestBody: body }),
    ...(verb === "patch" && { requestBody: "patch" }),
    ...(isDelete && { requestBody: "deleteOptions" }),
    response: responseOf(verb, { body, resource }),
  };
}

const deprecationOf = (verb: Verb): string =>
  verb === "watch" ? ". Deprecated: use the list operation with its parameter watch." : "";

/**
 * The body of a successful answer. An object that finalizers keep is returned itself, although the document says
 * otherwise.
 */
function responseOf(verb: Verb, { body, resource }: Pick<OperationPlace, "body" | "resource">): Operation["response"] {
  const { answersDeletedObject = false, answersStatusOfDeletedCollection = false } = resource;
  if (verb === "watch") return "watchEvent";
  if (verb === "delete") return answersDeletedObject ? body : "status";
  if (verb === "deletecollection" && answersStatusOfDeletedCollection) return "status";
  return verb === "list" || verb === "deletecollection" ? listOf(body) : body;
}

const listOf = ({ schema, kind }: Body): Body => ({
  schema: listSchema(schema),
  kind: { ...kind, kind: `${kind.kind}List` },
});

const kindOf = ({ group, version, kind }: GroupVersionKind): GroupVersionKind => ({ group, version, kind });

const capitalized = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** `rbac.authorization.k8s.io` is `RbacAuthorization`. */
export const wordOfGroup = (group: string): string =>
  group === "" ? "Core" : group.split(".").slice(0, -2).map(capitalized).join("");

/** `rbac.authorization.k8s.io` is `RbacAuthorizationK8sIo`. */
export const wholeWordOfGroup = (group: string): string => group.split(".").map(capitalized).join("");

/** The query and path parameters by name. */
export const parameterTypes = {
  allowWatchBookmarks: { type: "boolean", description: "Whether a watch also sends BOOKMARK events." },
  continue: { type: "string", description: "The continue token from the previous page." },
  dryRun: { type: "string", description: "All: run every step, but store nothing." },
  fieldManager: { type: "string", description: "The name of the manager, for managedFields." },
  fieldSelector: { type: "string", description: "Restricts the objects by their fields." },
  fieldValidation: { type: "string", description: "What happens to unknown fields: Ignore, Warn or Strict." },
  force: { type: "boolean", description: "Whether an apply takes fields over from other managers." },
  gracePeriodSeconds: {
    type: "integer",
    description: "Seconds that the object has to shut down; 0 deletes it immediately.",
  },
  ignoreStoreReadErrorWithClusterBreakingPotential: {
    type: "boolean",
    description: "Deletes an object that cannot be read from the store.",
  },
  labelSelector: { type: "string", description: "Restricts the objects by their labels." },
  limit: { type: "integer", description: "The maximum number of objects in one page." },
  name: { type: "string", description: "The name of the object." },
  namespace: { type: "string", description: "The namespace of the object." },
  pretty: { type: "string", description: "Whether the answer is indented." },
  orphanDependents: { type: "boolean", description: "Deprecated: use propagationPolicy." },
  propagationPolicy: { type: "string", description: "What happens to dependents: Orphan, Background or Foreground." },
  resourceVersion: { type: "string", description: "The version to read, or to watch from." },
  resourceVersionMatch: { type: "string", description: "How a list uses resourceVersion: Exact or NotOlderThan." },
  sendInitialEvents: { type: "boolean", description: "Whether a watch starts with all existing objects." },
  timeoutSeconds: { type: "integer", description: "Seconds after which a list or watch ends." },
  watch: { type: "boolean", description: "Whether changes are sent instead of a list." },
} as const satisfies Readonly<Record<string, { readonly type: string; readonly description: string }>>;

export type ParameterName = keyof typeof parameterTypes;
