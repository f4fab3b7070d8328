import { join } from "node:path";
import type { Presence } from "../../../../src/machinery/schema/schema.ts";
import { atomicStruct } from "./facts.ts";
import type { Facts, TypeFacts } from "./facts.ts";
import { readGoPackage } from "./go-source.ts";
import type { GoField, GoPackage, GoType, Markers } from "./go-source.ts";

/** The folders of the two Go modules. */
export interface Modules {
  readonly api: string;
  readonly apimachinery: string;
}

/** Types whose encoding is their own. */
const encoded: Readonly<Record<string, string>> = {
  "meta/v1.Time": "time",
  "meta/v1.MicroTime": "microTime",
  "meta/v1.FieldsV1": "any",
  "runtime.RawExtension": "any",
  "resource.Quantity": "quantity",
  "intstr.IntOrString": "intOrString",
};
const builtIn: Readonly<Record<string, string>> = {
  string: "string",
  bool: "boolean",
  int32: "int32",
  int64: "int64",
  "[]byte": "bytes",
};

/** Collects the facts of types, and of all that they are made of, from the sources of Kubernetes. */
export class UpstreamFacts {
  readonly #modules: Modules;
  readonly #packages = new Map<string, GoPackage>();
  readonly #facts = new Map<string, TypeFacts>();

  constructor(modules: Modules) {
    this.#modules = modules;
  }

  get facts(): Facts {
    return this.#facts;
  }

  /** Adds a type, `core/v1.Pod`, and all that it is made of. */
  add(id: string): void {
    if (this.#facts.has(id)) return;
    const [home] = split(id);
    const type = this.#type(id);
    this.#facts.set(id, new Map()); // types may contain themselves
    const atomic = isAtomic(type) ? [[atomicStruct, ""] as const] : [];
    this.#facts.set(id, new Map([...atomic, ...type.fields.flatMap((field) => this.#factsOf(field, home, ""))]));
  }

  #factsOf(field: GoField, home: string, embedded: string): [name: string, fact: string][] {
    const [json = "", ...options] = (field.tags["json"] ?? "").split(",");
    const number = /^\w+,(\d+)/.exec(field.tags["protobuf"] ?? "")?.[1] ?? "0";
    if (field.type.endsWith("TypeMeta")) return []; // protobuf has them in its envelope
    if (field.name === undefined && json === "") {
      const [innerHome] = split(this.#resolve(field.type, home));
      const prefix = number === "0" ? "" : `${number}.`;
      const inner = this.#type(this.#resolve(field.type, home)).fields;
      return inner.flatMap((one) => this.#factsOf(one, innerHome, `${embedded}${prefix}`));
    }
    if (json === "-" || json === "") return [];
    const omits = options.some((option) => option.startsWith("omit"));
    const text = this.#typeText(field.type.replace(/^\*/, ""), home, field);
    const presence = this.#presence(field, home, options);
    const isRequired = field.markers.has("required") || (!omits && !field.markers.has("optional"));
    const value = presence === "omitEmpty" ? undefined : this.#default(field, home);
    const fact = [
      `${embedded}${number}`,
      text,
      presence,
      ...(isRequired ? ["required"] : []),
      ...(value === undefined ? [] : [`default=${value}`]),
    ].join(" ");
    return [[json, fact]];
  }

  /** See `Presence` of our schemas. Go writes a struct that is empty, and null for a time that is not set. */
  #presence({ type }: GoField, home: string, options: readonly string[]): Presence {
    const isPointer = type.startsWith("*");
    if (options.includes("omitzero")) return isPointer ? "pointer" : "omitEmpty";
    if (!options.includes("omitempty")) return isPointer || type === "[]byte" ? "nullable" : "always";
    if (isPointer) return "pointer";
    return this.#isStruct(type, home) ? "always" : "omitEmpty";
  }

  #isStruct(type: string, home: string): boolean {
    if (/^(\[\]|map\[)/.test(type) || type in builtIn) return false;
    const id = this.#resolve(type, home);
    return id in encoded || this.#type(id).underlying === undefined;
  }

  /** A type in our words, as `schemaFacts` writes it; the markers and tags of the field say how lists and maps merge. */
  #typeText(type: string, home: string, field: GoField = unmarked): string {
    const plain = builtIn[type];
    if (plain !== undefined) return plain;
    if (type.startsWith("[]")) return `${listText(field)}[${this.#typeText(type.slice(2).replace(/^\*/, ""), home)}]`;
    const [, values] = /^map\[\w+\](.*)$/.exec(type) ?? [];
    if (values !== undefined) return `${isAtomic(field) ? "atomic-" : ""}map[${this.#typeText(values, home)}]`;
    const id = this.#resolve(type, home);
    const own = encoded[id];
    if (own !== undefined) return own;
    const { underlying } = this.#type(id);
    if (underlying === undefined) {
      this.add(id);
      return id;
    }
    const [inner, name] = split(id);
    const text = this.#typeText(underlying, inner, field);
    return underlying.startsWith("map[") ? text : `${text}:${inner.slice(inner.lastIndexOf("/") + 1)}.${name}`;
  }

  #default({ markers }: GoField, home: string): string | undefined {
    const [value] = markers.get("default") ?? [];
    const [, constant] = /^ref\((\w+)\)$/.exec(value ?? "") ?? [];
    return constant === undefined ? value : JSON.stringify(this.#package(home).constants.get(constant));
  }

  /** The id of a type that a file of the package `home` names. */
  #resolve(type: string, home: string): string {
    const [alias, name] = type.includes(".") ? (type.split(".") as [string, string]) : [undefined, type];
    if (alias === undefined) return `${home}.${name}`;
    const path = this.#package(home).imports.get(alias);
    if (path === undefined) throw new TypeError(`${home} imports no ${alias}`);
    return `${homeOf(path)}.${name}`;
  }

  #type(id: string): GoType {
    const [home, name] = split(id);
    const type = this.#package(home).types.get(name);
    if (type === undefined) throw new TypeError(`no type ${id}`);
    return type;
  }

  #package(home: string): GoPackage {
    const known = this.#packages.get(home);
    if (known !== undefined) return known;
    const read = readGoPackage(folderOf(home, this.#modules));
    this.#packages.set(home, read);
    return read;
  }
}

/** The last folders of an import path tell the packages apart that we meet: `core/v1`, `meta/v1`, `types`. */
const homeOf = (path: string): string =>
  path.replace(/^k8s\.io\/(api|apimachinery\/pkg\/(apis|api|util)|apimachinery\/pkg)\//, "");

function folderOf(home: string, { api, apimachinery }: Modules): string {
  if (home.startsWith("meta/")) return join(apimachinery, "pkg/apis", home);
  return home.includes("/") ? join(api, home) : join(apimachinery, "pkg", home);
}

function split(id: string): [home: string, name: string] {
  const dot = id.lastIndexOf(".");
  return [id.slice(0, dot), id.slice(dot + 1)];
}

const unmarked: GoField = { type: "", tags: {}, markers: new Map() };

const isAtomic = ({ markers }: { readonly markers: Markers }): boolean =>
  ["mapType", "structType"].some((marker) => markers.get(marker)?.[0] === "atomic");

function listText({ tags, markers }: GoField): string {
  const keys = markers.get("listMapKey") ?? [];
  const strategies = (tags["patchStrategy"] ?? "").split(",");
  return [
    markers.get("listType")?.[0] ?? "atomic",
    ...(keys.length === 0 ? [] : [`(${keys.join(",")})`]),
    ...(strategies.includes("merge") ? [`/merge(${tags["patchMergeKey"] ?? ""})`] : []),
    ...(strategies.includes("retainKeys") ? ["/retainKeys"] : []),
  ].join("");
}
