import type { Names } from "../../api/names.ts";
import { patchMediaTypes } from "../../api/patch-type.ts";
import type { GroupVersionKind } from "../../api/resource-type.ts";
import { deleteOptionsSchema, statusSchema } from "../meta-schemas.ts";
import { DefinitionCollector } from "./openapi-definitions.ts";
import type { OpenApiSchema } from "./openapi-definitions.ts";
import { operationsOf, parameterTypes, wholeWordOfGroup, wordOfGroup } from "./openapi-operations.ts";
import type { DescribedResource, HttpMethod, Operation, ParameterName } from "./openapi-operations.ts";
import { protobufMediaType } from "../protobuf/protobuf-envelope.ts";

export interface ApiDescription {
  readonly resources: readonly DescribedResource[];
  /** Kinds that can only be created. */
  readonly reviews: readonly DescribedResource[];
  readonly names: Names;
  /** The server's version. */
  readonly version: string;
}

export interface OpenApiV3 {
  readonly openapi: "3.0.0";
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, PathItemV3>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, OpenApiSchema>>;
    readonly securitySchemes: SecuritySchemes;
  };
  readonly security: SecurityRequirements;
}

type PathItemV3 = { readonly [method in HttpMethod]?: unknown } & { readonly parameters: readonly unknown[] };

export interface OpenApiV2 {
  readonly swagger: "2.0";
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, PathItemV2>>;
  readonly definitions: Readonly<Record<string, OpenApiSchema>>;
  readonly securityDefinitions: SecuritySchemes;
  readonly security: SecurityRequirements;
}

/** The ways to prove who one is. */
type SecuritySchemes = Readonly<Record<string, ApiKey>>;

/** Alternatives, each of which is enough. An alternative names its schemes, with the scopes that it needs of each. */
type SecurityRequirements = readonly Readonly<Record<string, readonly string[]>>[];

/** A header that holds a secret. */
export interface ApiKey {
  readonly type: "apiKey";
  readonly description: string;
  readonly name: string;
  readonly in: "header";
}

export type PathItemV2 = { readonly [method in HttpMethod]?: OperationV2 } & {
  readonly parameters: readonly ParameterV2[];
};

export interface OperationV2 {
  readonly description: string;
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly consumes: readonly string[];
  readonly produces: readonly string[];
  /** Absent when there are none: Kubernetes' own reader distinguishes an empty list from an absent one. */
  readonly parameters?: readonly ParameterV2[];
  readonly responses: Readonly<Record<string, { readonly description: string; readonly schema?: OpenApiSchema }>>;
  readonly "x-kubernetes-action": string;
  readonly "x-kubernetes-group-version-kind": GroupVersionKind;
}

export interface ParameterV2 {
  readonly name: string;
  readonly in: "path" | "query" | "body";
  readonly description?: string;
  readonly required?: boolean;
  readonly type?: string;
  readonly uniqueItems?: boolean;
  readonly schema?: OpenApiSchema;
}

const objectMediaTypes = ["application/json", "application/yaml", protobufMediaType];
const watchMediaTypes = ["application/json;stream=watch", `${protobufMediaType};stream=watch`];

/** Upstream's schemes: client generators find by these names where the token goes. */
const securitySchemes: SecuritySchemes = {
  BearerToken: { type: "apiKey", description: "Bearer Token authentication", name: "authorization", in: "header" },
};
const security: SecurityRequirements = [{ BearerToken: [] }];

const mediaTypesOf = ({ action }: Operation): readonly string[] =>
  action === "list" || action.startsWith("watch") ? [...objectMediaTypes, ...watchMediaTypes] : objectMediaTypes;

const bodyMediaTypesOf = (body: Operation["requestBody"]): readonly string[] =>
  body === "patch" ? Object.values(patchMediaTypes) : ["*/*"];

/** The OpenAPI v3 document of one group and version. */
export function openApiV3(
  api: ApiDescription,
  { group, version }: { readonly group: string; readonly version: string },
): OpenApiV3 {
  const collector = new DefinitionCollector({ openApi: 3, names: api.names });
  const described = describedResources(api).filter((one) => one.group === group && one.version === version);
  const paths = pathsOf(
    described.flatMap((resource) => operationsOf(resource)),
    {
      pathItem: (path) => ({ parameters: pathParameters(path).map(parameterV3) }),
      operation: (operation) => operationV3(operation, collector),
    },
  );
  const components = { schemas: collector.definitions(), securitySchemes };
  return { openapi: "3.0.0", info: infoOf(api), paths, components, security };
}

/** The OpenAPI v2 document of the whole API. */
export function openApiV2(api: ApiDescription): OpenApiV2 {
  const collector = new DefinitionCollector({ openApi: 2, names: api.names });
  const paths = pathsOf(uniqueOperations(describedResources(api)), {
    pathItem: (path): PathItemV2 => ({ parameters: pathParameters(path).map(parameterV2) }),
    operation: (operation) => operationV2(operation, collector),
  });
  const definitions = collector.definitions();
  return { swagger: "2.0", info: infoOf(api), paths, definitions, securityDefinitions: securitySchemes, security };
}

/** When two groups of a document begin with the same word, only the first is called by that word alone. */
function uniqueOperations(resources: readonly DescribedResource[]): Operation[] {
  const groupOfWord = new Map<string, string>();
  for (const { group } of resources) {
    const word = wordOfGroup(group);
    if (!groupOfWord.has(word)) groupOfWord.set(word, group);
  }
  return resources.flatMap((resource) => {
    const word = wordOfGroup(resource.group);
    return operationsOf(resource, groupOfWord.get(word) === resource.group ? word : wholeWordOfGroup(resource.group));
  });
}

const describedResources = ({ resources, reviews }: ApiDescription): readonly DescribedResource[] => [
  ...resources,
  ...reviews.map((review) => ({ ...review, verbs: ["create"] as const })),
];

const infoOf = ({ version }: ApiDescription): { title: string; version: string } => ({ title: "Signet", version });

function pathsOf<Item>(
  operations: readonly Operation[],
  render: { pathItem(path: string): Item; operation(operation: Operation): unknown },
): Record<string, Item> {
  const paths = new Map<string, Item>();
  for (const operation of operations) {
    const item = paths.get(operation.path) ?? render.pathItem(operation.path);
    paths.set(operation.path, { ...item, [operation.method]: render.operation(operation) });
  }
  return Object.fromEntries([...paths].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The parameters of every operation on a path: the names in it, and `pretty`. */
const pathParameters = (path: string): ParameterName[] => [
  ...(["name", "namespace"] as const).filter((name) => path.includes(`{${name}}`)),
  "pretty",
];

const parametersOf = <T>(parameters: readonly T[]): { readonly parameters?: readonly T[] } =>
  parameters.length === 0 ? {} : { parameters };

const isPathParameter = (name: ParameterName): boolean => name === "name" || name === "namespace";

/** The part of a parameter that both versions share. */
const parameterOf = (name: ParameterName) => ({
  name,
  in: isPathParameter(name) ? ("path" as const) : ("query" as const),
  description: parameterTypes[name].description,
  ...(isPathParameter(name) && { required: true }),
});

/** The part of an operation before its bodies that both versions share. */
const identityOf = ({ description, id, tag }: Operation) => ({ description, operationId: id, tags: [tag] });

/** The part of an operation after its bodies that both versions share. `answer` is the answer of a success. */
const outcomeOf = ({ statusCodes, action, kind }: Operation, answer: { readonly description: string }) => ({
  responses: {
    ...Object.fromEntries(statusCodes.map((code) => [code, answer])),
    401: { description: "Unauthorized" },
  },
  "x-kubernetes-action": action,
  "x-kubernetes-group-version-kind": kind,
});

function bodyReference(
  body: Operation["response"] | "patch" | "deleteOptions",
  collector: DefinitionCollector,
): OpenApiSchema {
  if (body === "patch") {
    return collector.addShared("apis.meta.v1.Patch", {
      description: "A change, in the format of its media type.",
      type: "object",
    });
  }
  if (body === "watchEvent") {
    return collector.addShared("apis.meta.v1.WatchEvent", {
      description: "A change of a watched object.",
      type: "object",
      required: ["type", "object"],
      properties: {
        type: { description: "ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.", type: "string" },
        object: { description: "The object after the change; of an ERROR a Status.", type: "object" },
      },
    });
  }
  if (body === "status") return collector.addKind(statusSchema, { group: "", version: "v1", kind: "Status" });
  if (body === "deleteOptions") {
    return collector.addKind(deleteOptionsSchema, { group: "", version: "v1", kind: "DeleteOptions" });
  }
  return collector.addKind(body.schema, body.kind);
}

function operationV3(operation: Operation, collector: DefinitionCollector): unknown {
  const { requestBody, response } = operation;
  const content = (mediaTypes: readonly string[], schema: OpenApiSchema): unknown =>
    Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, { schema }]));
  const answer = {
    description: "OK",
    content: content(mediaTypesOf(operation), bodyReference(response, collector)),
  };
  return {
    ...identityOf(operation),
    ...parametersOf(operation.parameters.map(parameterV3)),
    ...(requestBody !== undefined && {
      requestBody: {
        content: content(bodyMediaTypesOf(requestBody), bodyReference(requestBody, collector)),
        ...(requestBody !== "deleteOptions" && { required: true }),
      },
    }),
    ...outcomeOf(operation, answer),
  };
}

const parameterV3 = (name: ParameterName): unknown => ({
  ...parameterOf(name),
  schema: { type: parameterTypes[name].type, uniqueItems: true },
});

function operationV2(operation: Operation, collector: DefinitionCollector): OperationV2 {
  const { requestBody, response } = operation;
  const body: ParameterV2[] =
    requestBody === undefined
      ? []
      : [
          {
            name: "body",
            in: "body",
            ...(requestBody !== "deleteOptions" && { required: true }),
            schema: bodyReference(requestBody, collector),
          },
        ];
  const answer = { description: "OK", schema: bodyReference(response, collector) };
  return {
    ...identityOf(operation),
    consumes: bodyMediaTypesOf(requestBody),
    produces: mediaTypesOf(operation),
    ...parametersOf([...body, ...operation.parameters.map(parameterV2)]),
    ...outcomeOf(operation, answer),
  };
}

const parameterV2 = (name: ParameterName): ParameterV2 => ({
  ...parameterOf(name),
  type: parameterTypes[name].type,
  uniqueItems: true,
});
