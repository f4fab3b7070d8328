import type { Names } from "../../machinery/api/names.ts";
import { configMapResource } from "./resources.ts";
import { forbiddenField, invalidValue, invalidValues, tooLong } from "../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../machinery/api/validation/field-error.ts";
import { isSemanticallyEqual } from "../../machinery/api/json/json-equality.ts";
import { configKeyFaults, validateDnsSubdomainName } from "../../machinery/api/validation/name-validation.ts";
import { defineResource } from "../../machinery/registry/definition/resource-definition.ts";
import type { ResourceDefinition } from "../../machinery/registry/definition/resource-definition.ts";
import { objectFields } from "../../machinery/schema/meta-schemas.ts";
import { wasSentEmpty } from "../../machinery/schema/sent-empty.ts";
import { boolean, bytes, mapOf, string } from "../../machinery/schema/schema.ts";
import type { Infer } from "../../machinery/schema/schema.ts";
import { ageColumn, nameColumn } from "../../machinery/registry/definition/columns.ts";
import { omitEmpty, pointer, struct } from "../../machinery/schema/struct.ts";

const maximumBytes = 1024 * 1024;

const configMapSchema = struct("v1.ConfigMap", "Configuration that other objects and programs read.", {
  ...objectFields,
  immutable: pointer(4, boolean, "Once true, neither the data nor this field can be changed again."),
  data: omitEmpty(
    2,
    mapOf(string),
    "Text by key. Keys consist of letters, digits, `-`, `_` and `.`, and must not be in binaryData.",
  ),
  binaryData: omitEmpty(3, mapOf(bytes), "Bytes by key, in base64.", { distinguishesEmpty: true }),
});

export type ConfigMap = Infer<typeof configMapSchema>;

export function configMaps(names: Names): ResourceDefinition<ConfigMap> {
  return defineResource({
    ...configMapResource(names),
    shortNames: ["cm"],
    schema: configMapSchema,
    validateName: validateDnsSubdomainName,
    validate,
    validateUpdate: (next, { previous }) => [
      "metadata change",
      ...validateImmutable(next, previous),
      "metadata",
      ...validate(next),
    ],
    columns: [
      nameColumn(names),
      {
        name: "Data",
        description:
          "Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'. Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not overlap with the keys in the BinaryData field, this is enforced during validation process.",
        cell: ({ data = {}, binaryData = {} }) => Object.keys(data).length + Object.keys(binaryData).length,
      },
      ageColumn(names),
    ],
  });
}

function validate({ data = {}, binaryData = {} }: ConfigMap): FieldError[] {
  const faults: FieldError[] = [];
  let size = 0;
  for (const [key, value] of Object.entries(data)) {
    faults.push(...invalidValues(`data[${key}]`, { value: key, details: configKeyFaults(key) }));
    if (Object.hasOwn(binaryData, key)) {
      faults.push(invalidValue(`data[${key}]`, { value: key, detail: "duplicate of key present in binaryData" }));
    }
    size += Buffer.byteLength(value);
  }
  for (const [key, value] of Object.entries(binaryData)) {
    faults.push(...invalidValues(`binaryData[${key}]`, { value: key, details: configKeyFaults(key) }));
    size += Buffer.byteLength(value, "base64");
  }
  // The size is a fault of the whole object. `[]` is upstream's path without a field.
  if (size > maximumBytes) faults.push(tooLong("[]", maximumBytes));
  return faults;
}

function validateImmutable(next: ConfigMap, previous: ConfigMap): FieldError[] {
  if (previous.immutable !== true) return [];
  const detail = "field is immutable when `immutable` is set";
  return [
    ...(next.immutable === true ? [] : [forbiddenField("immutable", detail)]),
    ...(isSemanticallyEqual(next.data, previous.data) ? [] : [forbiddenField("data", detail)]),
    ...(isSemanticallyEqual(next.binaryData, previous.binaryData) && !wasSentEmpty(next, "binaryData")
      ? []
      : [forbiddenField("binaryData", detail)]),
  ];
}
