import type { Secret } from "../../core/index.ts";

/** Encodes a text for a Secret's data. */
export const encodedText = (text: string): string => Buffer.from(text, "utf8").toString("base64");

/** Returns a function that reads a text of a Secret's data by its key. Undefined for a missing key. */
export const textsOf =
  (data: NonNullable<Secret["data"]> = {}) =>
  (key: string): string | undefined =>
    Object.hasOwn(data, key) ? Buffer.from(data[key] ?? "", "base64").toString("utf8") : undefined;
