import type { Secret } from "../../core/index.ts";

/** A text as a Secret's data has it. */
export const encodedText = (text: string): string => Buffer.from(text, "utf8").toString("base64");

/** Reads texts of a Secret's data. Undefined for a key that it does not have. */
export const textsOf =
  (data: NonNullable<Secret["data"]> = {}) =>
  (key: string): string | undefined =>
    Object.hasOwn(data, key) ? Buffer.from(data[key] ?? "", "base64").toString("utf8") : undefined;
