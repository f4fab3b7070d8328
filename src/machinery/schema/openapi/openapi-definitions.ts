import type { Names } from "../../api/names.ts";
import type { GroupVersionKind } from "../../api/resource-type.ts";
import type { AnySchema, ArraySchema, Field, ObjectSchema, ScalarType, Schema } from "../schema.ts";

/** A JSON schema as OpenAPI writes it. */
export interface OpenApiSchema {
  readonly $ref?: string;
  readonly allOf?: readonly OpenApiSchema[];
  readonly oneOf?: readonly OpenApiSchema[];
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly additionalProperties?: OpenApiSchema;
  readonly items?: OpenApiSchema;
  readonly [extension: `x-kubernetes-${string}`]: unknown;
}

/** Names the schemas of an API and collects each of them once, together with the schemas that it refers to. */
export class DefinitionCollector {
  readonly #openApi: 2 | 3;
  readonly #names: Names;
  readonly #definitions = new Map<string, OpenApiSchema>();

  /** Names of definitions start with the reversed domain of their group (`io.k8s`), or of the server for types that all groups share. */
  constructor({ openApi, names }: { readonly openApi: 2 | 3; readonly names: Names }) {
    this.#openApi = openApi;
    this.#names = names;
  }

  /** All definitions, sorted by name. */
  definitions(): Record<string, OpenApiSchema> {
    return Object.fromEntries([...this.#definitions].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Adds a kind or its list, and returns a reference to it. */
  addKind(schema: ObjectSchema, kind: GroupVersionKind): OpenApiSchema {
    const name = this.#add(schema, kind.group);
    // It may already be present as part of another kind.
    this.#definitions.set(name, { ...this.#definitions.get(name), "x-kubernetes-group-version-kind": [kind] });
    return this.#reference(name);
  }

  /** Adds a definition without a schema to the types that all groups share. `goType` is relative to apimachinery's packages. */
  addShared(goType: string, definition: OpenApiSchema): OpenApiSchema {
    const name = `${domainOf(this.#names)}.apimachinery.pkg.${goType}`;
    this.#definitions.set(name, definition);
    return this.#reference(name);
  }

  #add(schema: ObjectSchema, group: string): string {
    const name =
      schema.package === undefined
        ? `${domainOf(this.#names.spellingOf(group))}.api.${group === "" ? "core" : group.split(".")[0]}.${schema.goType}`
        : `${domainOf(this.#names)}.${schema.package}.${schema.goType}`;
    if (!this.#definitions.has(name)) this.#definitions.set(name, this.#object(schema, group));
    return name;
  }

  #reference(name: string): OpenApiSchema {
    return { $ref: this.#openApi === 2 ? `#/definitions/${name}` : `#/components/schemas/${name}` };
  }

  #object(schema: ObjectSchema, group: string): OpenApiSchema {
    const fields = Object.entries(schema.fields);
    const required = fields.filter(([, field]) => field.isRequired === true).map(([name]) => name);
    return {
      description: schema.description,
      type: "object",
      ...(required.length > 0 && { required }),
      properties: Object.fromEntries(fields.map(([name, field]) => [name, this.#field(field, group)])),
      ...(schema.isAtomic === true && { "x-kubernetes-map-type": "atomic" }),
    };
  }

  #field(field: Field, group: string): OpenApiSchema {
    const schema = this.#schema(field.schema, group);
    const { description } = field;
    const fallback = field.default === undefined ? {} : { default: field.default };
    // OpenAPI 3.0 ignores everything next to a reference.
    if (schema.$ref !== undefined && this.#openApi === 3) return { description, ...fallback, allOf: [schema] };
    return { description, ...fallback, ...schema };
  }

  #schema(schema: Schema, group: string): OpenApiSchema {
    if (schema.type === "object") return this.#reference(this.#add(schema, group));
    if (schema.type === "array") {
      return { type: "array", items: this.#schema(schema.items, group), ...listExtensions(schema) };
    }
    if (schema.type === "map") {
      const isAtomic = schema.isAtomic === true && { "x-kubernetes-map-type": "atomic" };
      return { type: "object", additionalProperties: this.#schema(schema.values, group), ...isAtomic };
    }
    const type = (this.#openApi === 3 ? unionTypes[schema.type] : undefined) ?? simpleTypes[schema.type];
    const named = namedTypes[schema.type];
    if (named !== undefined) return this.addShared(named.goType, { description: named.description, ...type });
    return schema.type === "any" || schema.enum === undefined ? type : { ...type, enum: schema.enum.toSorted() };
  }
}

const domainOf = (names: Names): string => names.group("authentication").split(".").slice(1).toReversed().join(".");

function listExtensions(schema: ArraySchema): OpenApiSchema {
  return {
    "x-kubernetes-list-type": schema.list,
    ...(schema.mapKeys !== undefined && { "x-kubernetes-list-map-keys": schema.mapKeys }),
    ...(schema.patchMerge?.mergeKey !== undefined && { "x-kubernetes-patch-merge-key": schema.patchMerge.mergeKey }),
    ...(schema.patchMerge !== undefined && {
      "x-kubernetes-patch-strategy": schema.patchMerge.retainsKeys === true ? "merge,retainKeys" : "merge",
    }),
  };
}

type SimpleType = ScalarType | AnySchema["type"];

/** Types that client programs recognise by the names of their definitions, if these are upstream's names. */
const namedTypes: Readonly<Partial<Record<SimpleType, { readonly goType: string; readonly description: string }>>> = {
  time: { goType: "apis.meta.v1.Time", description: "A time as in RFC 3339, to the second." },
  microTime: { goType: "apis.meta.v1.MicroTime", description: "A time as in RFC 3339, to the microsecond." },
  quantity: { goType: "api.resource.Quantity", description: "A number with a suffix, such as 500m or 2Gi." },
  intOrString: { goType: "util.intstr.IntOrString", description: "A number or a text, such as a port or its name." },
  // The only values of any shape that kinds have are sets of fields.
  any: { goType: "apis.meta.v1.FieldsV1", description: "A set of fields, as nested maps of path elements." },
};

/** Types that OpenAPI 2 cannot express. */
const unionTypes: Readonly<Partial<Record<SimpleType, OpenApiSchema>>> = {
  quantity: { oneOf: [{ type: "string" }, { type: "number" }] },
  intOrString: { format: "int-or-string", oneOf: [{ type: "integer" }, { type: "string" }] },
};

const simpleTypes: Readonly<Record<SimpleType, OpenApiSchema>> = {
  any: { type: "object" },
  string: { type: "string" },
  boolean: { type: "boolean" },
  int32: { type: "integer", format: "int32" },
  int64: { type: "integer", format: "int64" },
  bytes: { type: "string", format: "byte" },
  time: { type: "string", format: "date-time" },
  microTime: { type: "string", format: "date-time" },
  // Go's structured-merge-diff accepts a number here only under upstream's name of Quantity, or for a format that it does not know.
  quantity: { type: "string", format: "quantity" },
  intOrString: { type: "string", format: "int-or-string" },
};
