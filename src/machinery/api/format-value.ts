/** Errors show at most this much of a caller's value, in UTF-16 units. A certificate request fits. */
export const maximumShownLength = 4096;

/** The text, shortened when it is too long to show. */
export function shortened(text: string, maximumLength = maximumShownLength): string {
  if (text.length <= maximumLength) return text;
  return `${text.slice(0, maximumLength).toWellFormed()}... (${text.length} characters)`;
}

/**
 * Formats a value as Go prints it in field errors: strings quoted, structures as JSON, everything else plain. A long
 * value is cut, and the cost does not grow with its length.
 */
export function formatValue(value: unknown): string {
  if (value === undefined || value === null) return "null";
  if (typeof value === "string") {
    if (value.length <= maximumShownLength) return JSON.stringify(value);
    return `${JSON.stringify(value.slice(0, maximumShownLength).toWellFormed())}... (${value.length} characters)`;
  }
  if (typeof value !== "object") return JSON.stringify(value) ?? "null";
  const writer = new BeginningWriter();
  writer.write(value);
  return writer.isFull ? `${writer.text.slice(0, maximumShownLength).toWellFormed()}...` : writer.text;
}

/** Writes JSON until the text is longer than an error may show. */
class BeginningWriter {
  text = "";

  get isFull(): boolean {
    return this.text.length > maximumShownLength;
  }

  write(value: unknown): void {
    if (this.isFull) return;
    if (typeof value === "string") {
      // The closing quote of a long text is cut off together with the rest.
      this.text += JSON.stringify(value.slice(0, maximumShownLength + 1).toWellFormed());
    } else if (Array.isArray(value)) {
      this.#writeMembers("[]", value.keys(), (index) => value[index]);
    } else if (typeof value === "object" && value !== null) {
      const object = value as Readonly<Record<string, unknown>>; // neither null nor an array
      this.#writeMembers("{}", definedKeys(object), (key) => {
        this.text += `${JSON.stringify(shortened(key))}:`;
        return object[key];
      });
    } else {
      this.text += JSON.stringify(value) ?? "null";
    }
  }

  #writeMembers<K>(brackets: "[]" | "{}", keys: Iterable<K>, memberAt: (key: K) => unknown): void {
    this.text += brackets[0];
    let separator = "";
    for (const key of keys) {
      this.text += separator;
      separator = ",";
      this.write(memberAt(key));
      if (this.isFull) return;
    }
    this.text += brackets[1];
  }
}

function* definedKeys(object: Readonly<Record<string, unknown>>): Generator<string> {
  for (const key in object) if (object[key] !== undefined) yield key;
}
