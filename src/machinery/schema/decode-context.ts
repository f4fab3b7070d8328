import { maximumShownLength, shortened } from "../api/text/format-value.ts";
import { jsonTypeName } from "../api/json/json-object.ts";
import { maximumStrictFaults, positionOfMember } from "./json-reader.ts";
import type { MemberPlace } from "./json-reader.ts";
import type { ScalarType, Schema } from "./schema.ts";
import { conversionFault, isTime } from "./conversion-fault.ts";
import { TypeMismatch } from "./decode-faults.ts";

/** A step into a value: a struct field, a list index or a map key. Go's type errors show only the fields. */
export type PathStep = string | number | MapKey;

/** The key of the map entry that is being decoded. */
export class MapKey {
  key = "";
}

/**
 * Which program's words report a wrong type: Go's JSON decoder, or upstream's converter, which reads the result of a strategic merge patch.
 */
export type Reading = "parsed" | "converted";

/** The type that a value should have. `literal` is the number as it was written, where that matters. */
interface NamedType {
  readonly schema: Schema;
  readonly literal?: string;
}

/** The current position in a decoding, and the findings so far. */
export class DecodeContext {
  readonly #reading: Reading;
  readonly path: PathStep[] = [];
  readonly unknownFields: MemberPlace[] = [];
  /** The Go type that the innermost field belongs to. */
  struct = "";
  /** The object or list that contains the value that is being decoded. */
  container: object = this.path;
  #saved: TypeMismatch | undefined;

  constructor(reading: Reading = "parsed") {
    this.#reading = reading;
  }

  /** Records an unknown member of the object whose path has `depth` elements. */
  addUnknownField(name: string, { object, depth }: { readonly object: object; readonly depth: number }): void {
    if (this.unknownFields.length >= maximumStrictFaults) return;
    const path = strictPath([...this.path.slice(0, depth), name]);
    this.unknownFields.push({ path, position: positionOfMember(object, name) });
  }

  /**
   * Saves the fault of a value that is not of the schema's type, and leaves the value out. Go's decoder reads on, and reports the first
   * fault at the end. Only a time or a quantity that it cannot read ends the decoding at once. Upstream's converter stops at any fault.
   */
  saveMismatch(value: unknown, named: NamedType): undefined {
    if (this.#saved === undefined) this.#save(this.mismatch(value, named));
  }

  /** Saves the fault of a text that cannot be read as bytes, as `saveMismatch` does. */
  saveUnreadableBytes(fault: string): undefined {
    if (this.#saved === undefined)
      this.#save(new TypeMismatch(this.#reading === "converted" ? `error decoding from json: ${fault}` : fault));
  }

  #save(fault: TypeMismatch): void {
    if (this.#reading === "converted") throw fault;
    this.#saved = fault;
  }

  /** Throws the first fault that was saved. */
  throwSaved(): void {
    if (this.#saved !== undefined) throw this.#saved;
  }

  /** The fault of a value that is not of the schema's type. */
  mismatch(value: unknown, { schema, literal = "" }: NamedType): TypeMismatch {
    if (this.#reading === "converted") {
      const fault = conversionFault(value, { schema, literal, goType: goTypeOf(schema) });
      if (fault !== undefined) return new TypeMismatch(fault);
    }
    const fields = this.path.filter((element) => typeof element === "string");
    const isNamed = this.struct !== "" && !(this.#reading === "converted" && isTime(schema));
    const target = isNamed ? `Go struct field ${this.struct}.${fields.join(".")}` : "Go value";
    const found = literal === "" ? jsonTypeName(value) : `number ${literal}`;
    return new TypeMismatch(`json: cannot unmarshal ${shortened(found)} into ${target} of type ${goTypeOf(schema)}`);
  }
}

/** Formats a path like strict decoding does: `secrets[0].name`. */
function strictPath(path: readonly PathStep[]): string {
  let text = "";
  for (const element of path) {
    if (text.length > maximumShownLength) break;
    if (typeof element === "number") text += `[${element}]`;
    else text += `${text === "" ? "" : "."}${typeof element === "string" ? element : element.key}`;
  }
  return shortened(text);
}

const goScalarTypes: Readonly<Record<ScalarType, string>> = {
  string: "string",
  boolean: "bool",
  int32: "int32",
  int64: "int64",
  bytes: "[]uint8",
  // In Go, these types decode themselves from a string.
  time: "string",
  microTime: "string",
  quantity: "resource.Quantity",
  intOrString: "int32",
};

function goTypeOf(schema: Schema): string {
  if (schema.type === "any") return "interface {}";
  if (schema.type === "map") return schema.goType ?? `map[string]${goTypeOf(schema.values)}`;
  if (schema.type === "object") return schema.goType;
  if (schema.type === "array") return schema.goType ?? `[]${goTypeOf(schema.items)}`;
  return schema.goType ?? goScalarTypes[schema.type];
}
