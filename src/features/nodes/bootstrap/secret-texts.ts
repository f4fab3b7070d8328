import type { Secret } from "../../core/index.ts";

/** Reads texts of a Secret's data. Undefined for a key that it does not have. */
export const textsOf =
  (data: NonNullable<Secret["data"]> = {}) =>
  (key: string): string | undefined =>
    Object.hasOwn(data, key) ? Buffer.from(data[key] ?? "", "base64").toString("utf8") : undefined;
