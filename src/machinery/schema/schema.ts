/**
 * The schema language: one description of a kind's fields from which everything else follows: the TypeScript type
 * (`Infer`), decoding with pruning and errors as upstream words them, defaults, OpenAPI, merge keys of patches and apply,
 * and the protobuf encoding. A schema is plain data and never changes.
 */
export type Schema = ScalarSchema | ObjectSchema | ArraySchema | MapSchema | AnySchema;

/** `bytes` are base64 in JSON, `time` is RFC 3339 in whole seconds, `microTime` in microseconds; all stay strings. */
export type ScalarType =
  "string" | "boolean" | "int32" | "int64" | "double" | "bytes" | "time" | "microTime" | "quantity" | "intOrString";

declare const typed: unique symbol;

export interface ScalarSchema<T = unknown> {
  readonly type: ScalarType;
  /** The Go name of a named type, as upstream's decoding errors show it: `v1.KeyUsage`. */
  readonly goType?: string;
  readonly [typed]?: T;
}

export interface ObjectSchema<T = unknown> {
  readonly type: "object";
  /** The Go type's name as upstream error messages and OpenAPI show it: `v1.ObjectMeta`. */
  readonly goType: string;
  /** Where OpenAPI places a type that many groups share: `apimachinery.pkg.apis.meta`. Default: the kind's own group. */
  readonly package?: string;
  readonly description: string;
  readonly fields: Readonly<Record<string, Field>>;
  /** Apply and ownership treat it as one value (object references, selectors). */
  readonly isAtomic?: boolean;
  readonly [typed]?: T;
}

export interface ArraySchema<T = unknown> {
  readonly type: "array";
  readonly items: Schema;
  /** How apply and ownership see the list (upstream: `+listType`). */
  readonly list: "atomic" | "set" | "map";
  /** The keys of a `map` list. */
  readonly mapKeys?: readonly string[];
  /** How a strategic merge patch sees it; absent: the list is replaced as a whole. `mergeKey` is absent for scalars. */
  readonly patchMerge?: PatchMerge;
  /** The Go name of a named slice (`v1.ExtraValue`): protobuf writes such a list as a message `{ repeated items = 1 }`. */
  readonly goType?: string;
  readonly [typed]?: T;
}

interface PatchMerge {
  readonly mergeKey?: string;
  /** Tells clients to send `$retainKeys` with an entry: fields that exclude each other, such as a volume's sources. */
  readonly retainsKeys?: boolean;
}

export interface MapSchema<T = unknown> {
  readonly type: "map";
  readonly values: Schema;
  readonly isAtomic?: boolean;
  readonly [typed]?: T;
}

/** Any JSON value, kept as it is. */
export interface AnySchema<T = unknown> {
  readonly type: "any";
  readonly [typed]?: T;
}

/**
 * Whether a field is in the encoded object:
 * - `omitEmpty` (default): absent when it is empty (Go's omitempty on a value: "", 0, false, null, [] and {} vanish);
 * - `pointer`: absent only when it was absent or null (false, 0, "" and {} stay; an empty array of a pointer-less Go
 *   slice vanishes all the same);
 * - `always`: always there; when it was not given, with its empty value ("" 0 false, a struct with its own always-fields,
 *   null for lists and maps);
 * - `nullable`: always there, null when it was not given (a Go pointer, or bytes, without omitempty).
 */
type Presence = "omitEmpty" | "pointer" | "always" | "nullable";

export interface Field {
  /** The field's number in the protobuf message; 0: not in it (apiVersion and kind, which the envelope carries). */
  readonly number: number;
  /** The number of the message that the field is within in protobuf, where Go inlines one struct into another. */
  readonly embeddedIn?: number;
  readonly schema: Schema;
  readonly description: string;
  readonly presence?: Presence;
  /**
   * The value that a missing (or null) field gets when an object is decoded from a client; where presence is not
   * `pointer` an empty value ("", 0) counts as missing, as Go cannot tell them apart.
   */
  readonly default?: unknown;
  /**
   * The server sets it when a client leaves it out: a strategic merge patch of a list's entry that leaves it out takes the
   * old value away, or it would stay for ever.
   */
  readonly isServerSet?: boolean;
  /**
   * The field refers to another object, whose content the holder of this one gets. A list refers to one with each item. A
   * text is the name itself. `referencesOf` finds every such field.
   */
  readonly refersTo?: {
    readonly kind: string;
    /** The member with the name; absent: the name is not in the field. */
    readonly nameIn?: string;
  };
  /** Listed in OpenAPI as required. It does not validate: that is the kind's `validate`. */
  readonly isRequired?: boolean;
}

// ---- builders ---------------------------------------------------------------------------------

const scalar = <T>(type: ScalarType): ScalarSchema<T> => ({ type });

export const string: ScalarSchema<string> = scalar("string");
export const boolean: ScalarSchema<boolean> = scalar("boolean");
export const int32: ScalarSchema<number> = scalar("int32");
export const int64: ScalarSchema<number> = scalar("int64");
export const double: ScalarSchema<number> = scalar("double");
export const bytes: ScalarSchema<string> = scalar("bytes");
export const time: ScalarSchema<string> = scalar("time");
export const microTime: ScalarSchema<string> = scalar("microTime");
export const quantity: ScalarSchema<string> = scalar("quantity");
export const intOrString: ScalarSchema<number | string> = scalar("intOrString");
export const any: AnySchema = { type: "any" };

/** The same scalar under the name of a Go type: `named(string, "v1.RequestConditionType")`. */
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

/** A list that is one value: replaced as a whole. */
export const atomicList = <S extends Schema>(items: S): ArraySchema<Infer<S>[]> => ({
  type: "array",
  items,
  list: "atomic",
});

/** A list of distinct scalars, merged by value. */
export const setOf = <S extends Schema>(items: S): ArraySchema<Infer<S>[]> => ({
  type: "array",
  items,
  list: "set",
  patchMerge: {},
});

/** A list of objects that one field tells apart, for patches and for apply. */
export const mapList = <S extends Schema>(items: S, key: string): ArraySchema<Infer<S>[]> => ({
  type: "array",
  items,
  list: "map",
  mapKeys: [key],
  patchMerge: { mergeKey: key },
});

/** A list of objects that some fields tell apart for apply; a strategic merge patch replaces it. */
export const keyedList = <S extends Schema>(items: S, ...keys: readonly string[]): ArraySchema<Infer<S>[]> => ({
  type: "array",
  items,
  list: "map",
  mapKeys: keys,
});

/** A list of distinct scalars for apply; a strategic merge patch replaces it. */
export const uniqueList = <S extends Schema>(items: S): ArraySchema<Infer<S>[]> => ({
  type: "array",
  items,
  list: "set",
});

/** A named Go slice of strings (`v1.ExtraValue`), as the values of `extra` maps are. */
export const namedStringList = (goType: string): ArraySchema<string[]> => ({
  type: "array",
  items: string,
  list: "atomic",
  goType,
});

/** The fields of a Go struct that is inlined into another: in JSON they are the outer struct's own. */
export const embeddedIn = <const F extends Readonly<Record<string, Field>>>(number: number, fields: F): F =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, { ...field, embeddedIn: number }]),
  ) as unknown as F; // the same names with the same types

export const mapOf = <S extends Schema>(values: S): MapSchema<Record<string, Infer<S>>> => ({ type: "map", values });

// ---- inference --------------------------------------------------------------------------------

/** The TypeScript type of the decoded values of a schema. */
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
