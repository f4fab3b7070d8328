import type { ApiObject } from "../../api/object-meta.ts";
import type { ObjectSchema } from "../../schema/schema.ts";

/** Who writes, and through what. */
export interface FieldWrite {
  readonly schema: ObjectSchema;
  /** The fieldManager parameter, or the first part of the User-Agent; "" is recorded as `unknown`. */
  readonly manager: string;
  readonly apiVersion: string;
  /** "" for the resource itself. */
  readonly subresource: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Paths that this endpoint does not write: they are never owned through it (upstream: GetResetFields). */
  readonly resetFields?: readonly (readonly string[])[];
}

export interface UpdateTracking extends FieldWrite {
  /** The stored object; undefined for a create. */
  readonly previous: ApiObject | undefined;
  /** The object as the client wants it, decoded and defaulted, before prepareForCreate/prepareForUpdate. */
  readonly next: ApiObject;
}

export function trackUpdate({ next }: UpdateTracking): ApiObject {
  return next;
}

export interface Application extends FieldWrite {
  /** The stored object; undefined when the apply creates it. */
  readonly live: ApiObject | undefined;
  /** The applied configuration, parsed, its nulls kept. */
  readonly configuration: ApiObject;
  readonly isForced: boolean;
}

export function applyConfiguration({ configuration }: Application): ApiObject {
  return configuration;
}
