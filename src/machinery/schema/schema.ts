/**
 * The schema language. One description of a kind's fields provides everything else: the TypeScript type (`Infer`),
 * decoding with pruning and upstream's error messages, defaults, OpenAPI, merge keys for patches and apply, and the
 * protobuf encoding. A schema is plain data and immutable.
 */
export type Schema = ScalarSchema | ObjectSchema | ArraySchema | MapSchema | AnySchema;

/**
 * `bytes` is base64 in JSON, `time` is RFC 3339 in whole seconds, `microTime` is RFC 3339 in microseconds. All three are strings. A time
 * that is always present and that nobody set is null.
 */
export type ScalarType =
  | "string"
  | "boolean"
  | "int32"
  | "int64"
  | "bytes"
  | "time"
  | "microTime"
  | "quantity"
  | "intOrString";

declare const typed: unique symbol;

export interface ScalarSchema<T = unknown> {
  readonly type: ScalarType;
  /** The Go name of a named type, as in upstream's decoding errors: `v1.KeyUsage`. */
  readonly goType?: string;
  /** The values that validation allows, for OpenAPI. Decoding accepts other values too. Default: not listed. */
  readonly enum?: readonly string[];
  readonly [typed]?: T;
}

export interface ObjectSchema<T = unknown> {
  readonly type: "object";
  /** The name of the Go type, as in upstream's errors and OpenAPI: `v1.ObjectMeta`. */
  readonly goType: string;
  /**
   * The OpenAPI package of a type that many groups share: `apimachinery.pkg.apis.meta`. Default: the kind's own group.
   */
  readonly package?: string;
  readonly description: string;
  readonly fields: Readonly<Record<string, Field>>;
  /** Apply and ownership treat it as a single value (object references, selectors). */
  readonly isAtomic?: boolean;
  readonly [typed]?: T;
}

export interface ArraySchema<T = unknown> {
  readonly type: "array";
  readonly items: Schema;
  /** How apply and field ownership treat the list (upstream: `+listType`). */
  readonly list: "atomic" | "set" | "map";
  /** The keys of a `map` list. */
  readonly mapKeys?: readonly string[];
  /**
   * How a strategic merge patch treats the list. Absent: it replaces the list. `mergeKey` is absent for lists of
   * scalars.
   */
  readonly patchMerge?: PatchMerge;
  /** The Go name of a named slice (`v1.ExtraValue`): protobuf writes such a list as a message `{ repeated items = 1 }`. */
  readonly goType?: string;
  readonly [typed]?: T;
}

interface PatchMerge {
  readonly mergeKey?: string;
  /**
   * Tells clients to send `$retainKeys` with an entry whose fields exclude each other, such as the sources of a volume.
   */
  readonly retainsKeys?: boolean;
}

export interface MapSchema<T = unknown> {
  readonly type: "map";
  readonly values: Schema;
  readonly isAtomic?: boolean;
  /** The Go name of a named map, as in upstream's decoding errors: `v1.ResourceList`. */
  readonly goType?: string;
  readonly [typed]?: T;
}

/** Any JSON value. It is stored unchanged. */
export interface AnySchema<T = unknown> {
  readonly type: "any";
  readonly [typed]?: T;
}

/**
 * When a field appears in the encoded object:
 * - `omitEmpty` (default): absent when empty. Like Go's omitempty on a value: "", 0, false, null, [] and {} are left
 *   out.
 * - `pointer`: absent only when it was absent or null. false, 0, "" and {} stay. An empty array is left out anyway,
 *   because a Go slice is not a pointer.
 * - `always`: always present. When it was not given, it has its empty value: "", 0, false, a struct with its own
 *   always-fields, null for lists and maps.
 * - `nullable`: always present, null when it was not given (a Go pointer, or bytes, without omitempty).
 */
export type Presence = "omitEmpty" | "pointer" | "always" | "nullable";

export interface Field {
  /**
   * The field number in the protobuf message. 0: not in the message (apiVersion and kind, which are in the envelope).
   */
  readonly number: number;
  /**
   * For a field of a Go struct that is inlined into another: the number of the protobuf message that contains the
   * field, or the numbers from the outermost to the innermost.
   */
  readonly embeddedIn?: readonly number[];
  readonly schema: Schema;
  readonly description: string;
  readonly presence?: Presence;
  /**
   * The value for a missing or null field when an object from a client is decoded. Unless presence is `pointer`, an
   * empty value ("", 0) counts as missing: Go cannot tell them apart.
   */
  readonly default?: unknown;
  /**
   * The server sets this field when a client leaves it out. When a strategic merge patch changes a list entry without
   * it, the old value is removed so that the server sets it again. Otherwise the old value would never change.
   */
  readonly isServerSet?: boolean;
  /**
   * The field refers to another object, and a client that can use this object gets that object's content. In a list,
   * each item is a reference. A string is the name itself. `compileReferences` finds every such field.
   */
  readonly refersTo?: {
    readonly kind: string;
    /** The member that contains the name. Absent: the field does not contain the name. */
    readonly nameIn?: string;
  };
  /**
   * Whether a rule calls `wasSentEmpty` for the field: until an object is stored, Go distinguishes an empty map, or empty bytes, from none.
   */
  readonly distinguishesEmpty?: boolean;
  /** OpenAPI lists the field as required. This does not validate: the kind's `validate` does. */
  readonly isRequired?: boolean;
}

const scalar = <T>(type: ScalarType): ScalarSchema<T> => ({ type });

export const string: ScalarSchema<string> = scalar("string");
export const boolean: ScalarSchema<boolean> = scalar("boolean");
export const int32: ScalarSchema<number> = scalar("int32");
export const int64: ScalarSchema<number> = scalar("int64");
export const bytes: ScalarSchema<string> = scalar("bytes");
export const time: ScalarSchema<string | null> = scalar("time");
export const microTime: ScalarSchema<string | null> = scalar("microTime");
export const quantity: ScalarSchema<string> = scalar("quantity");
export const intOrString: ScalarSchema<number | string> = scalar("intOrString");
export const any: AnySchema = { type: "any" };

/** A text that must be one of these; see `ScalarSchema.enum`. */
export const oneOf = (values: readonly string[]): ScalarSchema<string> => ({ ...string, enum: values });

/** Gives a scalar the name of a Go type: `named(string, "v1.RequestConditionType")`. */
export const named = <T>(schema: ScalarSchema<T>, goType: string): ScalarSchema<T> => ({ ...schema, goType });

interface ObjectOptions<F> {
  readonly goType: string;
  readonly package?: string;
  readonly description: string;
  readonly fields: F;
  readonly isAtomic?: boolean;
}

export const object = <const F extends Readonly<Record<string, Field>>>(
  options: ObjectOptions<F>,
): ObjectSchema<FieldsOf<F>> => ({ type: "object", ...options });

/** A list that is a single value: always replaced as a whole. */
export const atomicList = <S extends Schema>(items: S): ArraySchema<Infer<S>[]> => ({
  type: "array",
  items,
  list: "atomic",
});

/** A list of distinct scalars: apply and strategic merge patches merge it by value. */
export const setList = <S extends Schema>(items: S): ArraySchema<Infer<S>[]> => ({
  type: "array",
  items,
  list: "set",
  patchMerge: {},
});

/** A list of objects that are identified by some of their fields: apply merges it by all of them, a strategic merge patch by the first. */
export const mapList = <S extends Schema>(
  items: S,
  ...keys: readonly [mergeKey: string, ...moreKeys: readonly string[]]
): ArraySchema<Infer<S>[]> => ({
  type: "array",
  items,
  list: "map",
  mapKeys: keys,
  patchMerge: { mergeKey: keys[0] },
});

/** The same list for apply, but replaced by a strategic merge patch. */
export const replacedByPatch = <T>({ patchMerge: _merged, ...list }: ArraySchema<T>): ArraySchema<T> => list;

/** A `mapList` of unions: objects whose fields exclude each other, such as the sources of a volume. */
export const unionList = <S extends Schema>(items: S, key: string): ArraySchema<Infer<S>[]> => ({
  ...mapList(items, key),
  patchMerge: { mergeKey: key, retainsKeys: true },
});

/** A list that is one value for apply, because its key need not be unique. A strategic merge patch merges it by the key. */
export const atomicListWithMergeKey = <S extends Schema>(items: S, mergeKey: string): ArraySchema<Infer<S>[]> => ({
  ...atomicList(items),
  patchMerge: { mergeKey },
});

/** The fields of a Go struct that is inlined into another. In JSON they belong to the outer struct. */
export const embeddedIn = <const F extends Readonly<Record<string, Field>>>(number: number, fields: F): F =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      name,
      { ...field, embeddedIn: [number, ...(field.embeddedIn ?? [])] },
    ]),
  ) as unknown as F; // the same names with the same types

export const mapOf = <S extends Schema>(values: S): MapSchema<Record<string, Infer<S>>> => ({ type: "map", values });

/** A map that is one value: apply and ownership do not look into it. */
export const atomicMapOf = <S extends Schema>(values: S): MapSchema<Record<string, Infer<S>>> => ({
  ...mapOf(values),
  isAtomic: true,
});

/** The TypeScript type of a schema's decoded values. */
export type Infer<S> = S extends { readonly [typed]?: infer T } ? T : never;

type AlwaysKeys<F> = { [K in keyof F]: F[K] extends { presence: "always" | "nullable" } ? K : never }[keyof F];
type Flat<T> = { [K in keyof T]: T[K] };
type AlwaysValue<F extends Field> = F extends { presence: "nullable" } | { schema: { type: "array" | "map" } }
  ? Infer<F["schema"]> | null
  : Infer<F["schema"]>;

export type FieldsOf<F extends Readonly<Record<string, Field>>> = Flat<
  { -readonly [K in AlwaysKeys<F>]: AlwaysValue<F[K]> } & {
    -readonly [K in Exclude<keyof F, AlwaysKeys<F>>]?: NonNullable<Infer<F[K]["schema"]>>;
  }
>;

/** The schema of a member. Undefined when the schema does not describe the member. */
export function memberSchemaOf(schema: Schema | undefined, name: string): Schema | undefined {
  if (schema?.type === "map") return schema.values;
  return schema?.type === "object" && Object.hasOwn(schema.fields, name) ? schema.fields[name]?.schema : undefined;
}
