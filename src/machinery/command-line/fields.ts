/** The path of a value in a document, and the list to add its faults to. */
export interface FieldContext {
  readonly path: string;
  readonly faults: string[];
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
    const isMapping = typeof value === "object" && value !== null && !Array.isArray(value);
    if (!isMapping && value !== undefined) faults.push(`${path || "the file"}: must be a mapping`);
    this.#values = new Map(isMapping ? Object.entries(value) : []);
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  fault(name: string, message: string): void {
    this.faults.push(`${this.pathOf(name)}: ${message}`);
  }

  fields(name: string): Fields {
    return new Fields(this.take(name), { path: this.pathOf(name), faults: this.faults });
  }

  /** The fields of an entry of a list, which `list` has given with its path. */
  at(value: unknown, path: string): Fields {
    return new Fields(value, { path, faults: this.faults });
  }

  text(name: string): string | undefined {
    const value = this.take(name);
    if (value === undefined || typeof value === "string") return value;
    this.fault(name, "must be a string");
    return undefined;
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

  texts(name: string, faultOf: (text: string) => string | undefined = () => undefined): string[] | undefined {
    return this.list(name, (value, path) => {
      const isText = typeof value === "string" && value !== "";
      const fault = isText ? faultOf(value) : "must be a string that is not empty";
      if (isText && fault === undefined) return value;
      this.faults.push(`${path}: ${fault}`);
      return undefined;
    });
  }

  refuseOthers(): void {
    for (const name of this.#values.keys()) if (!this.#known.has(name)) this.fault(name, "unknown field");
  }

  protected take(name: string): unknown {
    this.#known.add(name);
    return this.#values.get(name);
  }

  protected pathOf(name: string): string {
    return this.#path === "" ? name : `${this.#path}.${name}`;
  }
}
