import { isJsonObject, jsonFields } from "../../api/json/json-object.ts";
import { didYouMean } from "../did-you-mean.ts";
import { printable } from "../output/printable.ts";

/** The path of a value in a document, and the list to add its faults to. */
export interface FieldContext {
  readonly path: string;
  readonly faults: string[];
}

/** What is wrong with a text. Undefined: nothing. */
type FaultOfText = (text: string) => string | undefined;

/** No name of a file, command or user has a NUL. The system's calls refuse it, long after the settings were read. */
const nulFault: FaultOfText = (text) => (text.includes("\0") ? "must not contain a NUL" : undefined);

const maximumFaults = 20;
const maximumFaultLength = 400;

/** What is wrong with a settings file, each fault with the path of its field: the first 20, cut, and safe for a terminal. */
export class InvalidSettings extends Error {
  readonly faults: readonly string[];

  constructor(found: readonly string[]) {
    const more = found.length - maximumFaults;
    const shown = found.slice(0, maximumFaults).map((fault) => printable(fault.slice(0, maximumFaultLength)));
    const faults = more > 0 ? [...shown, `and ${more} more`] : shown;
    super(faults.join("; "));
    this.faults = faults;
  }
}

/** Throws InvalidSettings when there are faults. */
export function refuseFaults(faults: readonly string[]): void {
  if (faults.length > 0) throw new InvalidSettings(faults);
}

/** Reads the fields of a mapping by their types. Fields that were not read are faults. */
export class Fields {
  readonly faults: string[];
  readonly #path: string;
  readonly #values: ReadonlyMap<string, unknown>;
  readonly #known = new Set<string>();

  constructor(value: unknown, { path, faults }: FieldContext) {
    this.#path = path;
    this.faults = faults;
    if (!isJsonObject(value) && value !== undefined) faults.push(`${path || "the file"}: must be a mapping`);
    this.#values = new Map(Object.entries(jsonFields(value)));
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  /** The one of these fields that is there. None of them, or several, are a fault of the first. */
  oneOf<T extends string>(names: readonly [T, ...T[]]): T {
    const given = names.filter((name) => this.has(name));
    if (given.length !== 1) this.fault(names[0], `give one of ${names.join(", ")}`);
    return given[0] ?? names[0];
  }

  fault(name: string, message: string): void {
    this.faults.push(`${this.pathOf(name)}: ${message}`);
  }

  fields(name: string): Fields {
    return new Fields(this.take(name), { path: this.pathOf(name), faults: this.faults });
  }

  /** The fields of a list's entry. `list` has returned the entry with its path. */
  at(value: unknown, path: string): Fields {
    return new Fields(value, { path, faults: this.faults });
  }

  /** The text, even when `faultOf` finds a fault in it, so that the faults of other fields are found too. */
  text(name: string, faultOf: FaultOfText = () => undefined): string | undefined {
    const value = this.take(name);
    if (value === undefined) return undefined;
    const isText = typeof value === "string";
    const fault = isText ? (nulFault(value) ?? faultOf(value)) : "must be a string";
    if (fault !== undefined) this.fault(name, fault);
    return isText ? value : undefined;
  }

  /** Reads `apiVersion` and `kind`, which must have these values. */
  type(apiVersion: string, kind: string): void {
    if (this.text("apiVersion") !== apiVersion) this.fault("apiVersion", `must be ${apiVersion}`);
    if (this.text("kind") !== kind) this.fault("kind", `must be ${kind}`);
  }

  flag(name: string): boolean {
    const value = this.take(name);
    if (value !== undefined && typeof value !== "boolean") this.fault(name, "must be true or false");
    return value === true;
  }

  integer(name: string, { from, to }: { readonly from: number; readonly to: number }): number | undefined {
    const value = this.take(name);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= from && value <= to) return value;
    this.fault(name, `must be a whole number from ${from} to ${to}`);
    return undefined;
  }

  positiveInteger(name: string): number | undefined {
    const value = this.take(name);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return value;
    this.fault(name, "must be a positive whole number");
    return undefined;
  }

  list<T>(name: string, parseOne: (value: unknown, path: string) => T | undefined): T[] | undefined {
    const value = this.take(name);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) {
      this.fault(name, "must be a list");
      return undefined;
    }
    return value
      .map((one: unknown, index) => parseOne(one, `${this.pathOf(name)}[${index}]`))
      .filter((one) => one !== undefined);
  }

  texts(name: string, faultOf: FaultOfText = () => undefined): string[] | undefined {
    return this.list(name, (value, path) => {
      const isText = typeof value === "string" && value !== "";
      const fault = isText ? (nulFault(value) ?? faultOf(value)) : "must be a string that is not empty";
      if (isText && fault === undefined) return value;
      this.faults.push(`${path}: ${fault}`);
      return undefined;
    });
  }

  /** The first entries of a list that was read. It is a fault when there are more than `maximum`. */
  bounded<T>(
    list: readonly T[] | undefined,
    { name, maximum }: { readonly name: string; readonly maximum: number },
  ): readonly T[] | undefined {
    if (list !== undefined && list.length > maximum) this.fault(name, `must have at most ${maximum} entries`);
    return list?.slice(0, maximum);
  }

  /**
   * Refuses entries of a list that have the same name. An entry with the name `""` is skipped, because its missing name is a fault already.
   */
  refuseSameNames(list: string, entries: readonly { readonly name: string }[]): void {
    const first = new Map<string, number>();
    for (const [index, { name }] of entries.entries()) {
      if (name === "") continue;
      const same = first.get(name);
      if (same === undefined) first.set(name, index);
      else this.fault(`${list}[${index}].name`, `must be unique, but ${this.pathOf(list)}[${same}] has the same name`);
    }
  }

  refuseOthers(): void {
    for (const name of this.#values.keys()) {
      if (!this.#known.has(name)) this.fault(name, `unknown field${didYouMean(name, this.#known)}`);
    }
  }

  protected take(name: string): unknown {
    this.#known.add(name);
    return this.#values.get(name);
  }

  protected pathOf(name: string): string {
    return this.#path === "" ? name : `${this.#path}.${name}`;
  }
}
