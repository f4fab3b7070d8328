import type { FieldSet } from "../../../../src/machinery/registry/apply/field-set.ts";
import assert from "node:assert/strict";
import { ApiError } from "../../../../src/machinery/api/api-error.ts";
import type { ApiObject } from "../../../../src/machinery/api/object-meta.ts";
import { applyConfiguration } from "../../../../src/machinery/registry/apply/apply-configuration.ts";
import { runToEnd } from "../../../../src/machinery/api/run-to-end.ts";
import { trackUpdate } from "../../../../src/machinery/registry/apply/track-update.ts";
import { CompiledSchema } from "../../../../src/machinery/registry/definition/compiled-schema.ts";
import { typeMetaFields } from "../../../../src/machinery/schema/meta-schemas.ts";
import { objectMeta } from "../../../../src/machinery/schema/object-meta-schema.ts";
import { atomicList, mapList, object, string } from "../../../../src/machinery/schema/schema.ts";
import type { ObjectSchema } from "../../../../src/machinery/schema/schema.ts";

/** An entry of a list that is keyed by `name`. */
export const sampleEntry = object({
  goType: "v1.Entry",
  description: "",
  fields: {
    name: { number: 1, schema: string, description: "" },
    value: { number: 2, schema: string, description: "" },
  },
});

export const sampleSchema = object({
  goType: "v1.Sample",
  description: "",
  fields: {
    ...typeMetaFields,
    metadata: { number: 1, schema: objectMeta, presence: "always", description: "" },
    entries: { number: 2, schema: mapList(sampleEntry, "name"), description: "" },
    whole: { number: 3, schema: atomicList(sampleEntry), description: "" },
    text: { number: 4, schema: string, presence: "pointer", description: "" },
  },
}) as ObjectSchema<ApiObject>; // the type of the sample does not matter

export type Fields = Readonly<Record<string, unknown>>;

export const sample = ({ metadata = {}, ...fields }: Fields & { readonly metadata?: object }): ApiObject => ({
  apiVersion: "v1",
  kind: "Sample",
  ...fields,
  metadata: { name: "s", ...metadata },
});

export interface Writer {
  readonly manager: string;
  readonly now?: number;
  readonly isForced?: boolean;
  readonly subresource?: string;
  readonly resetFields?: FieldSet;
}

const compiled = new CompiledSchema(sampleSchema);
const decoded = (value: unknown): ApiObject => compiled.decode(value).value;

/** An update by a client that sends what it read with these fields instead. */
export const updated = (previous: ApiObject | undefined, fields: ApiObject, writer: Writer): ApiObject =>
  runToEnd(
    trackUpdate({
      compiled,
      apiVersion: "v1",
      subresource: "",
      now: 0,
      ...writer,
      previous,
      next: { ...decoded(fields), metadata: { ...decoded(fields).metadata, ...managedFieldsOf(fields) } },
    }),
  );

// Decoding may leave out an empty list; a client that resets managedFields sends one.
const managedFieldsOf = ({ metadata }: ApiObject): Pick<ApiObject["metadata"], "managedFields"> =>
  metadata.managedFields === undefined ? {} : { managedFields: metadata.managedFields };

export const applied = (live: ApiObject | undefined, configuration: ApiObject, writer: Writer): ApiObject =>
  decoded(
    runToEnd(
      applyConfiguration({
        compiled,
        name: "s",
        apiVersion: "v1",
        subresource: "",
        now: 0,
        isForced: false,
        ...writer,
        live,
        configuration,
      }),
    ),
  );

/** Each manager's fields, by its name. */
export const ownership = (one: ApiObject): Fields =>
  Object.fromEntries((one.metadata.managedFields ?? []).map(({ manager = "", fieldsV1 }) => [manager, fieldsV1]));

export const refusal = (act: () => unknown): ApiError => {
  try {
    act();
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  return assert.fail("nothing was refused");
};
