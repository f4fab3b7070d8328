/** Encodes a text for a Secret's data. */
export const encodedText = (text: string): string => Buffer.from(text, "utf8").toString("base64");

/** Decodes a text of a Secret's data. */
export const decodedText = (value: string): string => Buffer.from(value, "base64").toString("utf8");

/** Returns a function that reads a text of a Secret's data by its key. Undefined for a missing key. */
export const textsOf =
  (data: Readonly<Record<string, string>> = {}) =>
  (key: string): string | undefined =>
    Object.hasOwn(data, key) ? decodedText(data[key] ?? "") : undefined;
