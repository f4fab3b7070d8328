import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** One field of a Go struct: its type as the source writes it, its tags, and the `+markers` of its comment. */
export interface GoField {
  /** Absent: the struct `type` is embedded. */
  readonly name?: string;
  readonly type: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly markers: Markers;
}

/** `+listMapKey=name`: each marker with its values. */
export type Markers = ReadonlyMap<string, readonly string[]>;

export interface GoType {
  /** The type that it is made of: `string`, `map[ResourceName]resource.Quantity`. Absent for a struct. */
  readonly underlying?: string;
  readonly fields: readonly GoField[];
  readonly markers: Markers;
}

/** The types and constants of one Go package. */
export interface GoPackage {
  readonly types: ReadonlyMap<string, GoType>;
  /** String constants. */
  readonly constants: ReadonlyMap<string, string>;
  /** The import path of each name that the package's files import by. */
  readonly imports: ReadonlyMap<string, string>;
}

/** Reads the types of a package in gofmt's layout, generated files and tests left out. It is no parser of Go in general. */
export function readGoPackage(folder: string): GoPackage {
  const types = new Map<string, GoType>();
  const constants = new Map<string, string>();
  const imports = new Map<string, string>();
  const files = readdirSync(folder).filter((name) => /(?<!_test|generated|\.pb)\.go$/.test(name));
  for (const file of files.filter((name) => !name.startsWith("zz_"))) {
    readTypes(readFileSync(join(folder, file), "utf8"), { types, constants, imports });
  }
  return { types, constants, imports };
}

interface Found {
  readonly types: Map<string, GoType>;
  readonly constants: Map<string, string>;
  readonly imports: Map<string, string>;
}

function readTypes(source: string, { types, constants, imports }: Found): void {
  let comment: string[] = [];
  let fields: GoField[] | undefined; // of the struct that the line is in
  for (const line of source.split("\n")) {
    const text = line.trim();
    if (text.startsWith("//")) {
      comment.push(text);
      continue;
    }
    const [, imported, path] = /^(?:import )?(\w+ )?"([\w./-]+)"$/.exec(text) ?? [];
    if (path !== undefined) imports.set(imported?.trim() ?? path.slice(path.lastIndexOf("/") + 1), path);
    const [, constant, value] = /^(?:const )?(\w+)(?: +\w+)? += "([^"]*)"$/.exec(text) ?? [];
    if (constant !== undefined && value !== undefined) constants.set(constant, value);
    const [, name, underlying] = /^type (\w+) =? ?(.*)$/.exec(line) ?? [];
    if (fields !== undefined && line === "}") fields = undefined;
    else if (fields !== undefined) addField(fields, text, markersOf(comment));
    else if (name !== undefined && underlying === "struct {") {
      fields = [];
      types.set(name, { fields, markers: markersOf(comment) });
    } else if (name !== undefined && underlying !== undefined) {
      types.set(name, { underlying: underlying.replace(/ *\/\/.*/, ""), fields: [], markers: markersOf(comment) });
    }
    if (text !== "" || fields !== undefined) comment = []; // a type's markers may be in a comment of their own above it
  }
}

function addField(fields: GoField[], text: string, markers: Markers): void {
  const [, name, type, tags] = /^(?:(\w+) +)?(\S+) +`(.*)`/.exec(text) ?? [];
  if (type === undefined || tags === undefined) return;
  const pairs = [...tags.matchAll(/(\w+):"([^"]*)"/g)].map(([, key = "", value = ""]) => [key, value] as const);
  fields.push({ ...(name !== undefined && { name }), type, tags: Object.fromEntries(pairs), markers });
}

function markersOf(comment: readonly string[]): Markers {
  const markers = new Map<string, string[]>();
  for (const line of comment) {
    const [, name, value = ""] = /^\/\/ *\+([\w:]+)(?:=(.*))?$/.exec(line) ?? [];
    if (name !== undefined) markers.set(name, [...(markers.get(name) ?? []), value]);
  }
  return markers;
}
