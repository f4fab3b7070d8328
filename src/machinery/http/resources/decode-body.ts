import { andThen } from "../../api/maybe-promise.ts";
import type { MaybePromise } from "../../api/maybe-promise.ts";
import { badRequest } from "../../api/api-error.ts";
import { pauseInTurn } from "../../scheduling/request-turn.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import { openBrace } from "../../api/json/json-codes.ts";
import { isJsonObject, jsonTypeName } from "../../api/json/json-object.ts";
import { apiVersionOf, parseApiVersion, plainApiVersion } from "../../api/resource-type.ts";
import type { GroupVersion, GroupVersionKind } from "../../api/resource-type.ts";
import { JsonSyntaxError, valueBeforeNull } from "../../schema/json-reader.ts";
import type { MemberPlace, RepeatedKey } from "../../schema/json-reader.ts";
import { parsedValue, parseJson, parseJsonBytes } from "../../schema/parse-json.ts";
import type { ParsedJson } from "../../schema/parse-json.ts";
import { ProtobufError } from "../../schema/protobuf/protobuf-wire.ts";
import { decodeEnvelope } from "../../schema/protobuf/protobuf-envelope.ts";
import type { Envelope } from "../../schema/protobuf/protobuf-envelope.ts";
import { repeatedKeyFault, repeatedKeysFault, TypeMismatch } from "../../schema/decode-faults.ts";
import type { CompiledSchema } from "../../registry/definition/compiled-schema.ts";
import { decodeObject, decodeValue } from "../../registry/writes/decode-object.ts";
import { goTypeName } from "../../registry/definition/resource-definition.ts";
import type { ResourceRegistry } from "../../registry/resource-registry.ts";
import type { FieldValidation } from "../../registry/writes/write-options.ts";
import type { Format } from "../negotiation.ts";
import { YamlFault } from "../yaml/yaml-to-json.ts";
import { readableBody } from "./request-body.ts";
import type { BodySender, ReadableBody, RequestBody } from "./request-body.ts";
import type { ResourceRequest } from "./resource-request.ts";

/** The kind that a body must have. */
interface ExpectedKind extends GroupVersionKind {
  /** Where its objects are stored, if under another group. */
  readonly storedAs?: GroupVersion;
  /** Other versions that the path takes. */
  readonly otherVersions?: readonly GroupVersion[];
}

interface DecodeOptions<T extends ApiObject> {
  /** The sender of the body gets the warnings, and may have to wait for a turn when the body is long. */
  readonly sender: BodySender & Pick<ResourceRequest, "warnings">;
  readonly expected: ExpectedKind;
  readonly schema: CompiledSchema<T>;
  readonly fieldValidation: FieldValidation;
  /** Absent for kinds that are never stored. */
  readonly registry?: ResourceRegistry<T>;
}

/**
 * Decodes the object in a body. A 400 when it cannot be parsed, is of another kind or fails strict validation. Pauses between the two
 * steps when the turn of a long request is over.
 */
export const decodeBody = <T extends ApiObject>(body: RequestBody, options: DecodeOptions<T>): MaybePromise<T> =>
  andThen(readableBody(body, options.sender), (readable) => decodeReadable(readable, options));

function decodeReadable<T extends ApiObject>(body: ReadableBody, options: DecodeOptions<T>): MaybePromise<T> {
  const parsed = parseBody(body, options);
  const pause = pauseInTurn();
  return pause === undefined ? decodeParsed(parsed, options) : pause.then(() => decodeParsed(parsed, options));
}

function decodeParsed<T extends ApiObject>(
  { format, value, duplicateFields, repeatedKeys, sent }: ParsedBody,
  options: DecodeOptions<T>,
): T {
  const { expected, fieldValidation, registry, schema, sender } = options;
  const refuse = (fault: string): Error => cannotBeHandled(fault, { sent, expected });
  if (sent.kind !== expected.kind) {
    const [from, to] = [`${sent.version}.${sent.kind}`, goTypeName(expected)];
    throw refuse(`converting (${from}) to (${to}): unknown conversion`);
  }
  const apiVersion = apiVersionOf(expected);
  const isOther = expected.otherVersions?.some((other) => apiVersionOf(other) === sent.apiVersion) ?? false;
  if (sent.apiVersion !== apiVersion && !isOther) {
    throw badRequest(
      `the API version in the data (${sent.apiVersion}) does not match the expected API version (${apiVersion})`,
    );
  }
  try {
    const request = { value, duplicateFields };
    const decoded = registry === undefined ? decodeValue(schema, request) : decodeObject(registry, request);
    const { object, strictFaults: found } = decoded;
    if (found.length + repeatedKeys.length === 0) return object;
    // Upstream makes JSON of YAML through a map, and sorts its members.
    const strictFaults = format === "yaml" ? found.toSorted() : found;
    if (fieldValidation === "Strict") {
      const faults = [...(repeatedKeys.length > 0 ? [repeatedKeysFault(repeatedKeys)] : []), ...strictFaults];
      throw refuse(`strict decoding error: ${faults.join(", ")}`);
    }
    if (fieldValidation === "Warn") {
      for (const fault of [...repeatedKeys.map(repeatedKeyFault), ...strictFaults]) sender.warnings.add(fault);
    }
    return object;
  } catch (error) {
    if (error instanceof TypeMismatch) throw refuse(error.message);
    throw error;
  }
}

interface SentType {
  readonly kind: string;
  readonly apiVersion: string;
  readonly version: string;
}

/** The kind and version in a body. Missing parts are replaced by the expected ones. */
function sentType(
  { kind, apiVersion }: { readonly kind: string; readonly apiVersion: string },
  expected: ExpectedKind,
): SentType {
  const isReadable = parseApiVersion(apiVersion) !== undefined;
  const sentVersion = isReadable ? plainApiVersion(apiVersion, expected) : apiVersionOf(expected);
  return {
    kind: kind === "" ? expected.kind : kind,
    apiVersion: sentVersion,
    version: sentVersion.slice(sentVersion.indexOf("/") + 1),
  };
}

const cannotBeHandled = (
  fault: string,
  { sent, expected }: { readonly sent: SentType; readonly expected: ExpectedKind },
): Error =>
  badRequest(
    `${sent.kind} in version ${JSON.stringify(sent.version)} cannot be handled as a ${expected.kind}: ${fault}`,
  );

interface ParsedBody {
  readonly format: Format;
  readonly value: unknown;
  readonly duplicateFields: readonly MemberPlace[];
  /** For YAML, whose strict errors name lines instead of paths. */
  readonly repeatedKeys: readonly RepeatedKey[];
  readonly sent: SentType;
}

function parseBody(
  body: ReadableBody,
  { expected, schema }: Pick<DecodeOptions<ApiObject>, "expected" | "schema">,
): ParsedBody {
  const unrecognized = (fault: string): Error =>
    badRequest(
      `the object provided is unrecognized (must be of type ${expected.kind}): ${fault} (${summarize(body.bytes)})`,
    );
  const { value, duplicateFields, repeatedKeys } = parseValue(body, {
    schema,
    refuse: unrecognized,
    refuseContent: (fault, type) => cannotBeHandled(fault, { sent: sentType(type, expected), expected }),
  });
  const type = typeOf(value, { format: body.format, refuse: unrecognized });
  return {
    format: body.format,
    value: value ?? {},
    duplicateFields: body.format === "yaml" ? [] : duplicateFields,
    repeatedKeys: body.format === "yaml" ? repeatedKeys : [],
    sent: sentType(type, expected),
  };
}

interface ValueParsing {
  readonly schema: CompiledSchema;
  /** Creates the 400. */
  readonly refuse: (fault: string) => Error;
  /** Creates the 400 for a faulty protobuf message whose envelope says what it is. Default: `refuse`. */
  readonly refuseContent?: (fault: string, type: { readonly kind: string; readonly apiVersion: string }) => Error;
}

/** Parses the JSON value of a body in any format. */
export function parseValue(body: ReadableBody, { schema, refuse, refuseContent = refuse }: ValueParsing): ParsedJson {
  let envelope: Envelope | undefined;
  try {
    if (body.value !== undefined) return parsedValue(body.value);
    if (body.format === "json") {
      if (body.parsed instanceof JsonSyntaxError) throw body.parsed;
      return body.parsed ?? parseJsonBytes(body.bytes);
    }
    if (body.format === "yaml") {
      if (body.json instanceof YamlFault) throw body.json;
      // Upstream reads YAML into a map, in which the last of repeated keys replaces the others.
      return parseJson(body.json, { replacesRepeated: true });
    }
    envelope = decodeEnvelope(body.bytes);
    const { kind, apiVersion, raw } = envelope;
    return { value: { kind, apiVersion, ...schema.protobuf.decode(raw) }, duplicateFields: [], repeatedKeys: [] };
  } catch (error) {
    if (error instanceof JsonSyntaxError) {
      throw refuse(`couldn't get version/kind; json parse error: ${error.message}`);
    }
    if (error instanceof YamlFault) throw refuse(error.message);
    if (error instanceof ProtobufError) {
      throw envelope === undefined ? refuse(error.message) : refuseContent(error.message, envelope);
    }
    throw error;
  }
}

/** Go ignores the case of these names, and the last member counts. */
const typeMembers = new Map<string, "kind" | "apiVersion">([
  ["kind", "kind"],
  ["apiversion", "apiVersion"],
]);

/**
 * The kind and apiVersion of a body's value, "" for missing ones. `refuse` creates the 400 for a value that can have neither, and for an
 * apiVersion that cannot be parsed.
 */
export function typeOf(
  value: unknown,
  { format, refuse }: { readonly format: Format; readonly refuse: (fault: string) => Error },
): { readonly kind: string; readonly apiVersion: string } {
  const unfit = (fault: string): Error =>
    refuse(`couldn't get version/kind; json parse error: json: cannot unmarshal ${fault}`);
  if (value === null || value === undefined) return { kind: "", apiVersion: "" };
  if (!isJsonObject(value)) {
    const goStruct =
      'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
    throw unfit(`${jsonTypeName(value)} into Go value of type ${goStruct}`);
  }
  const found = { kind: "", apiVersion: "" };
  for (const key in value) {
    // A body may have thousands of other members.
    if (key.length !== "kind".length && key.length !== "apiVersion".length) continue;
    const member = typeMembers.get(key.toLowerCase());
    const text = value[key] ?? valueBeforeNull(value, key) ?? null; // own keys only
    if (member === undefined || text === null) continue;
    if (typeof text !== "string") throw unfit(`${jsonTypeName(text)} into Go struct field .${member} of type string`);
    found[member] = text;
  }
  // In protobuf, upstream treats an apiVersion that it can't read as missing.
  if (format !== "protobuf" && parseApiVersion(found.apiVersion) === undefined) {
    throw refuse(`unexpected GroupVersion string: ${found.apiVersion}`);
  }
  return found;
}

/** The start of a body, as upstream's errors show it. */
function summarize(bytes: Buffer): string {
  if (bytes.length === 0) return "<empty>";
  const start = bytes.subarray(0, 30);
  return start.toString(bytes[0] === openBrace ? "utf8" : "hex") + (bytes.length > start.length ? " ..." : "");
}
