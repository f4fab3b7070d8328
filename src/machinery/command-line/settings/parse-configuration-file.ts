import { firstFaults, formatFaults } from "../../api/validation/field-error.ts";
import type { FieldError } from "../../api/validation/field-error.ts";
import { isJsonObject } from "../../api/json/json-object.ts";
import { yamlToJson } from "../../http/yaml/yaml-to-json.ts";
import type { Decoded } from "../../schema/compile-decoder.ts";
import { parseJson } from "../../schema/parse-json.ts";
import { strictFaults } from "../../schema/decode-faults.ts";

const apiVersions = ["v1", "v1beta1", "v1alpha1"].map((version) => `apiserver.config.k8s.io/${version}`);

interface ConfigurationKind<T> {
  readonly kind: string;
  /** The decoder of the file's schema; see `compileDecoder`. */
  readonly decode: (value: unknown) => Decoded<T>;
}

/**
 * Parses a configuration file of kube-apiserver's form (YAML or JSON). Strict: unknown and repeated fields are faults. Throws an
 * Error that lists the faults, each with its path.
 */
export function parseConfigurationFile<T extends { readonly apiVersion?: string; readonly kind?: string }>(
  text: string,
  { kind, decode }: ConfigurationKind<T>,
): T {
  const { value, duplicateFields } = parseJson(yamlToJson(text));
  if (!isJsonObject(value)) {
    throw new Error(`it holds no settings; begin with apiVersion: ${apiVersions[0]} and kind: ${kind}`);
  }
  const { value: configuration, unknownFields } = decode(value);
  const strict = strictFaults({ duplicateFields, unknownFields });
  if (strict.length > 0) throw new Error(strict.join("; "));
  const { apiVersion = "", kind: given = "" } = configuration;
  if (!apiVersions.includes(apiVersion)) {
    throw new Error(`apiVersion: ${JSON.stringify(apiVersion)} must be ${apiVersions.join(" or ")}`);
  }
  if (given !== kind) throw new Error(`kind: ${JSON.stringify(given)} must be ${kind}`);
  return configuration;
}

/** Throws an Error that lists the first faults. */
export function refuseFieldErrors(validate: () => readonly FieldError[]): void {
  const faults = firstFaults(validate);
  if (faults.length > 0) throw new Error(formatFaults(faults));
}
