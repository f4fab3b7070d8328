/** How much of a caller's value an error shows, in UTF-16 units: a certificate request has its place in it. */
export const maximumShownLength = 4096;

/** The text, or its beginning when it is too long to be shown. */
export function shortened(text: string, maximumLength = maximumShownLength): string {
  if (text.length <= maximumLength) return text;
  return `${text.slice(0, maximumLength).toWellFormed()}... (${text.length} characters)`;
}

/**
 * A value as Go prints it in field errors: strings quoted, structures as JSON, the rest plain. Of a long one only the
 * beginning, at a cost that does not grow with the value.
 */
export function shownValue(value: unknown): string {
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

/** Writes JSON until there is more than can be shown. */
class BeginningWriter {
  text = "";

  get isFull(): boolean {
    return this.text.length > maximumShownLength;
  }

  write(value: unknown): void {
    if (this.isFull) return;
    if (typeof value === "string") {
      // The quote at the end of a long one is cut off with the rest.
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
