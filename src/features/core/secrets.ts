import { spellingIn } from "../../machinery/api/names.ts";
import type { Names } from "../../machinery/api/names.ts";
import { secretResource } from "./resources.ts";
import { encodedText } from "./secret-texts.ts";
import { NamedText } from "../../machinery/api/text/format-value.ts";
import {
  forbiddenField,
  invalidValue,
  invalidValues,
  required,
  tooLong,
} from "../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../machinery/api/validation/field-error.ts";
import { isSemanticallyEqual } from "../../machinery/api/json/json-equality.ts";
import { isJsonObject, jsonTypeName } from "../../machinery/api/json/json-object.ts";
import { configKeyFaults, validateDnsSubdomainName } from "../../machinery/api/validation/name-validation.ts";
import { defineResource } from "../../machinery/registry/definition/resource-definition.ts";
import type { ResourceDefinition } from "../../machinery/registry/definition/resource-definition.ts";
import { inTurns } from "../../machinery/scheduling/request-turn.ts";
import { decodeUtf8 } from "../../machinery/schema/decode-utf8.ts";
import { objectFields } from "../../machinery/schema/meta-schemas.ts";
import { JsonSyntaxError } from "../../machinery/schema/json-reader.ts";
import { parseJsonInSteps } from "../../machinery/schema/parse-json.ts";
import { wasSentEmpty } from "../../machinery/schema/sent-empty.ts";
import { boolean, bytes, mapOf, named, string } from "../../machinery/schema/schema.ts";
import type { Infer } from "../../machinery/schema/schema.ts";
import { ageColumn, nameColumn } from "../../machinery/registry/definition/columns.ts";
import { omitEmpty, pointer, struct } from "../../machinery/schema/struct.ts";
import { tlsPairFault } from "../../pki/certificates/tls-pair.ts";

const maximumBytes = 1024 * 1024;

const secretSchema = struct("v1.Secret", "Confidential data, such as a password, a token or a key.", {
  ...objectFields,
  immutable: pointer(5, boolean, "Once true, neither the data nor this field can be changed again."),
  data: omitEmpty(2, mapOf(bytes), "Bytes by key, in base64. Keys consist of letters, digits, `-`, `_` and `.`.", {
    distinguishesEmpty: true,
  }),
  stringData: omitEmpty(
    4,
    mapOf(string),
    "Write-only text by key. It is merged into `data`, where it replaces equal keys, and never returned.",
  ),
  type: omitEmpty(
    3,
    named(string, "v1.SecretType"),
    "The type of the data. Some types require certain keys. It cannot be changed.",
    { default: "Opaque" },
  ),
});

export type Secret = Infer<typeof secretSchema>;

export function secrets(names: Names): ResourceDefinition<Secret> {
  const validate = (secret: Secret, jsonFault: string | undefined): FieldError[] => [
    ...validateData(secret.data ?? {}),
    ...validateSecretType(secret, { names, jsonFault }),
  ];
  const warnings = (secret: Secret): string[] => warningsOf(secret, names);
  return defineResource({
    ...secretResource(names),
    isConfidential: true,
    schema: secretSchema,
    validateName: validateDnsSubdomainName,
    setDefaults: mergeStringData,
    async startValidation(secret) {
      const jsonFault = await jsonFaultOf(secret, names);
      return () => validate(secret, jsonFault);
    },
    async startUpdateValidation(next, { previous }) {
      const jsonFault = await jsonFaultOf(next, names);
      return () => ["metadata change", ...validateImmutable(next, previous), "metadata", ...validate(next, jsonFault)];
    },
    warningsOnCreate: warnings,
    warningsOnUpdate: warnings,
    selectableFields: { type: ({ type }) => type ?? "" },
    comparedAs: (_field, value) => names.ownKey(value),
    columns: [
      nameColumn(names),
      {
        name: "Type",
        description: `Used to facilitate programmatic handling of secret data. More info: https://${names.domain}/docs/concepts/configuration/secret/#secret-types`,
        cell: ({ type }) => type ?? "",
      },
      {
        name: "Data",
        description:
          "Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or '.'. The serialized form of the secret data is a base64 encoded string, representing the arbitrary (possibly non-string) data value here. Described in https://tools.ietf.org/html/rfc4648#section-4",
        cell: ({ data = {} }) => Object.keys(data).length,
      },
      ageColumn(names),
    ],
  });
}

function mergeStringData({ stringData, ...secret }: Secret): Secret {
  if (stringData === undefined) return secret;
  const added = Object.entries(stringData).map(([key, text]) => [key, encodedText(text)] as const);
  return { ...secret, data: Object.fromEntries([...Object.entries(secret.data ?? {}), ...added]) };
}

function validateData(data: Readonly<Record<string, string>>): FieldError[] {
  const faults: FieldError[] = [];
  let size = 0;
  for (const [key, value] of Object.entries(data)) {
    faults.push(...invalidValues(`data[${key}]`, { value: key, details: configKeyFaults(key) }));
    size += Buffer.byteLength(value, "base64");
  }
  if (size > maximumBytes) faults.push(tooLong("data", maximumBytes));
  return faults;
}

function validateImmutable(next: Secret, previous: Secret): FieldError[] {
  const faults: FieldError[] = [];
  if (next.type !== previous.type)
    faults.push(invalidValue("type", { value: new NamedText(next.type ?? ""), detail: "field is immutable" }));
  if (previous.immutable !== true) return faults;
  const detail = "field is immutable when `immutable` is set";
  if (next.immutable !== true) faults.push(forbiddenField("immutable", detail));
  if (!isSemanticallyEqual(next.data, previous.data) || wasSentEmpty(next, "data"))
    faults.push(forbiddenField("data", detail));
  return faults;
}

/** The data key whose value must be JSON by the secret's type. Undefined for other types. */
function jsonKeyOf({ type }: Secret, names: Names): string | undefined {
  const ofType = names.ownKey(type ?? "");
  if (ofType === names.key("dockercfg")) return ".dockercfg";
  return ofType === names.key("dockerconfigjson") ? ".dockerconfigjson" : undefined;
}

/** Why this value is not a JSON object, or undefined. It is read in turns of the event loop, because it may be a megabyte. */
async function jsonFaultOf(secret: Secret, names: Names): Promise<string | undefined> {
  const key = jsonKeyOf(secret, names);
  const content = key === undefined ? undefined : secret.data?.[key];
  return content === undefined ? undefined : inTurns(jsonObjectFault(Buffer.from(content, "base64")));
}

interface TypeValidation {
  readonly names: Names;
  readonly jsonFault: string | undefined;
}

/** Returns the faults by the requirements of a secret's type on its data and annotations. Other types require nothing. */
function validateSecretType(secret: Secret, { names, jsonFault }: TypeValidation): FieldError[] {
  const jsonKey = jsonKeyOf(secret, names);
  const { type, data = {}, metadata } = secret;
  const missing = (key: string): FieldError[] => (Object.hasOwn(data, key) ? [] : [required(`data[${key}]`, "")]);
  if (jsonKey !== undefined) {
    if (jsonFault === undefined) return missing(jsonKey);
    return [invalidValue(`data[${jsonKey}]`, { value: "<secret contents redacted>", detail: jsonFault })];
  }
  switch (names.ownKey(type ?? "")) {
    case names.key("service-account-token"): {
      const nameKey = (one: Names): string => one.key("service-account.name");
      const key = nameKey(spellingIn(names, { map: metadata.annotations, keyIn: nameKey }));
      const isNamed = (metadata.annotations?.[key] ?? "") !== "";
      return isNamed ? [] : [required(`metadata.annotations[${key}]`, "")];
    }
    case names.key("basic-auth"): {
      const faults = [...missing("username"), ...missing("password")];
      return faults.length === 2 ? faults : [];
    }
    case names.key("ssh-auth"):
      return (data["ssh-privatekey"] ?? "") === "" ? [required("data[ssh-privatekey]", "")] : [];
    case names.key("tls"):
      return [...missing("tls.crt"), ...missing("tls.key")];
    default:
      return [];
  }
}

/** Warnings for a TLS secret. A pair that TLS cannot use is stored, with a warning (upstream: `warningsForSecret`). */
function warningsOf({ type, data = {} }: Secret, names: Names): string[] {
  if (names.ownKey(type ?? "") !== names.key("tls")) return [];
  const [certificate = "", key = ""] = [data["tls.crt"], data["tls.key"]];
  const fault = tlsPairFault(Buffer.from(certificate, "base64"), Buffer.from(key, "base64"));
  return fault === undefined ? [] : [fault];
}

/** Why bytes are not a JSON object, in the words of Go's encoding/json (upstream: `ValidateSecret`). Yields between its steps. */
function* jsonObjectFault(bytes: Buffer): Generator<undefined, string | undefined> {
  try {
    const { value } = yield* parseJsonInSteps(decodeUtf8(bytes), { maximumValues: Infinity });
    if (value === null || isJsonObject(value)) return undefined;
    return `json: cannot unmarshal ${jsonTypeName(value)} into Go value of type map[string]interface {}`;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error.message;
    throw error;
  }
}
