import { badRequest, conflict, invalid } from "../../api/api-error.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import type { PatchType } from "../../api/patch-type.ts";
import { plainApiVersion } from "../../api/resource-type.ts";
import { maximumPatchValues } from "../../schema/value-limit.ts";
import { inTurns, pauseInTurn } from "../../scheduling/request-turn.ts";
import { JsonSyntaxError } from "../../schema/json-reader.ts";
import type { RepeatedKey } from "../../schema/json-reader.ts";
import { repeatedMembersIn } from "../../schema/repeated-members.ts";
import { parseJsonInSteps } from "../../schema/parse-json.ts";
import type { ParsedJson } from "../../schema/parse-json.ts";
import {
  repeatedKeyFault,
  repeatedKeysFault,
  strictFaults as faultsOf,
  TypeMismatch,
} from "../../schema/decode-faults.ts";
import { applyConfiguration, parseConfiguration } from "../apply/apply-configuration.ts";
import type { AppliedObject, ApplyRequest } from "../apply/apply-configuration.ts";
import { trackUpdate } from "../apply/track-update.ts";
import { decodeObject } from "./decode-object.ts";
import type { DecodedObject, DecodeRequest } from "./decode-object.ts";
import { checkName, inRequestNamespace } from "./requested-name.ts";
import { invalidMergePatch, patchDoesNotApply, undecodablePatch } from "../patch/patch-error.ts";
import { applyJsonPatch, parseJsonPatch, unknownOperationFields } from "../patch/json-patch.ts";
import { applyMergePatch, parseMergePatch } from "../patch/merge-patch.ts";
import { applyStrategicMergePatch, parseStrategicMergePatch } from "../patch/strategic-merge-patch.ts";
import type { StrategicMergePatch } from "../patch/strategic-merge-patch.ts";
import type { ResourceRegistry } from "../resource-registry.ts";
import { configurationFaults } from "../apply/configuration-faults.ts";
import { changeObject } from "./update-object.ts";
import type { ObjectChange, Changed } from "./update-object.ts";
import type { WriteOptions } from "./write-options.ts";
import { fieldWrite } from "./field-write.ts";

export interface PatchRequest extends Omit<ObjectChange<ApiObject>, "wanted" | "authorizeCreate"> {
  readonly type: PatchType;
  /** The patch as JSON. The YAML of an apply is already converted. */
  readonly text: string;
  readonly options: WriteOptions;
  readonly manager: string;
  /** Called before an apply creates an object. Rejects when the caller may not create it. */
  readonly authorizeCreate: () => Promise<void>;
}

/**
 * Changes an object with a patch, or creates it with an apply. Throws 400, 404, 409, 422 and the errors of admission.
 */
export async function patchObject<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  request: PatchRequest,
): Promise<Changed<T>> {
  const { namespace, name, subresource, caller, authorizeCreate } = request;
  return changeObject(registry, {
    namespace,
    name,
    subresource,
    caller,
    wanted: request.type === "apply" ? applier(registry, request) : patcher(registry, request),
    ...(request.type === "apply" && subresource === "" && { authorizeCreate }),
  });
}

type Wanted<T> = (previous: T | undefined) => Promise<T>;

/** Applies JSON, merge and strategic merge patches. Parses the patch only when the object exists: otherwise the answer is 404. */
function patcher<T extends ApiObject>(registry: ResourceRegistry<T>, request: PatchRequest): Wanted<T> {
  let patch: ParsedPatch | undefined;
  return async (previous) => {
    if (previous === undefined) throw registry.notFound(request.name);
    patch ??= await parsePatch(registry, request);
    await pauseInTurn();
    const document = registry.served.object(previous);
    const value = await patch.apply(document);
    await pauseInTurn();
    const duplicateFields = patch.keepsRepeatedMembers === true ? repeatedMembersIn(value) : [];
    const { object, strictFaults: found } = fitted(registry, { value, shown: patch.shown, duplicateFields });
    const strictFaults = found.length === 0 ? found : newFaults(registry, { found, document });
    // Upstream decodes the result of a strategic merge patch from maps, which have no order, and sorts the unknown fields.
    const unknownFields = request.type === "strategic-merge" ? strictFaults.toSorted() : strictFaults;
    reportStrictFaults([...patch.strictFaults, ...unknownFields], { request, shown: patch.shown });
    const placed = placedObject(registry, { object, request });
    await pauseInTurn();
    const tracking = trackUpdate({ ...fieldWrite(registry, request), previous, next: placed });
    return (await inTurns(tracking)) as T; // changes only managedFields
  };
}

function applier<T extends ApiObject>(registry: ResourceRegistry<T>, request: PatchRequest): Wanted<T> {
  let read: AppliedConfiguration | undefined;
  return async (live) => {
    const { configuration, repeatedKeys } = (read ??= await appliedConfiguration(registry, request));
    const { uid: sentUid, resourceVersion: sentVersion } = configuration.metadata ?? {};
    // The configuration is not checked yet: a uid that is not a string is refused when it is applied.
    const uid = typeof sentUid === "string" ? sentUid : "";
    const write = { ...fieldWrite(registry, request), name: request.name, isForced: request.options.isForced };
    await pauseInTurn();
    const applied = await inTurns(merged(registry, { write, live, configuration }));
    reportRepeatedKeys(repeatedKeys, request);
    await pauseInTurn();
    // The configuration has no unknown fields: what the result has of them, another version of the server has stored.
    const { object } = fitted(registry, { value: applied });
    await pauseInTurn();
    if (live === undefined && uid !== "") {
      throw conflict(registry.resource, {
        name: request.name,
        message: `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
      });
    }
    const { metadata, ...content } = placedObject(registry, { object, request });
    const { resourceVersion: _applied, ...kept } = metadata;
    // An apply without a resourceVersion uses the version of the object that it was merged into.
    const resourceVersion = sentVersion ?? live?.metadata.resourceVersion;
    return {
      ...content,
      metadata: { ...kept, ...(uid !== "" && { uid }), ...(resourceVersion !== undefined && { resourceVersion }) },
    } as T; // only the metadata is replaced
  };
}

interface Applying<T extends ApiObject> {
  readonly write: Omit<ApplyRequest, "live" | "configuration">;
  readonly live: T | undefined;
  /** The configuration in the form of the version that it names. */
  readonly configuration: AppliedObject;
}

/** Merges the configuration into the live object, in the form of the version. Yields between its steps. */
function* merged<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { write, live, configuration }: Applying<T>,
): Generator<undefined, unknown> {
  const { fieldNames, storedApiVersion, apiVersion, schema } = registry.compiled;
  if (fieldNames === undefined) {
    return yield* applyConfiguration({ ...write, live: live && registry.served.object(live), configuration });
  }
  const faults = yield* configurationFaults(schema.schema, configuration);
  if (faults.length > 0) throw invalid(registry.kind, { name: write.name, faults });
  const stored = { ...fieldNames.toStored(configuration), apiVersion: storedApiVersion };
  // The configuration was checked above against the version's schema.
  const applied = yield* applyConfiguration({ ...write, live, configuration: stored as unknown as AppliedObject });
  return { ...fieldNames.toServed(applied), apiVersion };
}

interface AppliedConfiguration {
  readonly configuration: AppliedObject;
  readonly repeatedKeys: readonly RepeatedKey[];
}

/** Parses the configuration of an apply, and checks its kind. Its other fields are checked when it is applied. */
async function appliedConfiguration<T extends ApiObject>(
  { definition }: ResourceRegistry<T>,
  { text }: PatchRequest,
): Promise<AppliedConfiguration> {
  const refusal = (fault: string): Error => badRequest(`error decoding YAML: ${fault}`);
  const { value, repeatedKeys } = await parsed(text, { refusal });
  return { configuration: parseConfiguration(value, definition), repeatedKeys };
}

interface ParsedPatch {
  apply(document: ApiObject): unknown;
  readonly strictFaults: readonly string[];
  /** The patch, for the types whose errors show it. */
  readonly shown?: StrategicMergePatch;
  /** Whether members that are repeated in the patch are repeated in its result too: upstream inserts a JSON patch's values as texts. */
  readonly keepsRepeatedMembers?: boolean;
}

async function parsePatch<T extends ApiObject>(
  { definition, apiVersion }: ResourceRegistry<T>,
  { type, text, options }: PatchRequest,
): Promise<ParsedPatch> {
  // Upstream decodes a patch only to find the faults that are reported, and then says so.
  const isStrict = options.fieldValidation !== "Ignore";
  const lenientRefusal = type === "merge" ? invalidMergePatch : badRequest;
  const { value, duplicateFields } = await parsed(text, {
    refusal: type !== "strategic-merge" && isStrict ? undecodablePatch : lenientRefusal,
    ...(type === "json" && { maximumValues: maximumPatchValues }),
  });
  if (type === "json") {
    const operations = parseJsonPatch(value);
    const faults = faultsOf({ duplicateFields, unknownFields: unknownOperationFields(value) });
    return {
      apply: (document) => applyJsonPatch(document, operations),
      strictFaults: faults.map((fault) => `json patch ${fault}`),
      keepsRepeatedMembers: duplicateFields.length > 0,
    };
  }
  const duplicates = faultsOf({ duplicateFields, unknownFields: [] });
  if (type === "merge") {
    const patch = parseMergePatch(value, { isStrict });
    return { apply: (document) => applyMergePatch(document, patch), strictFaults: duplicates };
  }
  const patch = parseStrategicMergePatch(value);
  return {
    apply: (document) => {
      // An object is a JSON object with known members.
      const patched = applyStrategicMergePatch({ document: { ...document }, patch, schema: definition.schema });
      // Like upstream, decode the result as the kind of the path, whatever its own kind and apiVersion say.
      const isText = (member: unknown): boolean => member === undefined || typeof member === "string";
      const { kind } = definition;
      return isText(patched["kind"]) && isText(patched["apiVersion"]) ? { ...patched, kind, apiVersion } : patched;
    },
    strictFaults: duplicates,
    shown: patch,
  };
}

interface Parsing {
  readonly refusal: (fault: string) => Error;
  readonly maximumValues?: number;
}

/** Parses JSON. Of a repeated member, only the last value counts, because upstream reads patches and configurations as maps. */
async function parsed(text: string, { refusal, ...limits }: Parsing): Promise<ParsedJson> {
  try {
    return await inTurns(parseJsonInSteps(text, { ...limits, replacesRepeated: true }));
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw refusal(error.message);
    throw error;
  }
}

interface Fitting extends Pick<DecodeRequest, "value" | "duplicateFields"> {
  readonly shown?: StrategicMergePatch | undefined;
}

/** Decodes the patched value as an object of the kind. */
function fitted<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { value, shown, duplicateFields = [] }: Fitting,
): DecodedObject<T> {
  // Upstream's decoder takes the kind from the path, and treats an object without a version like one without a name.
  const { kind, apiVersion } = Object(value) as Partial<Record<"kind" | "apiVersion", unknown>>;
  const isLeftOut = (sent: unknown): boolean => sent === undefined || sent === null || sent === "";
  const isOfKind = isLeftOut(kind) || kind === registry.definition.kind;
  if (isOfKind && isLeftOut(apiVersion)) {
    throw badRequest(`the patch takes the apiVersion away: it must stay ${JSON.stringify(registry.apiVersion)}`);
  }
  // The decoder refuses a kind or apiVersion that is not a string.
  const isOtherKind = typeof kind === "string" && !isOfKind;
  const isOtherVersion =
    typeof apiVersion === "string" && plainApiVersion(apiVersion, registry.definition) !== registry.apiVersion;
  if (isOtherKind || isOtherVersion) {
    throw patchDoesNotApply(`the kind and apiVersion cannot be changed`, shown);
  }
  try {
    return decodeObject(registry, { value, duplicateFields, reading: shown === undefined ? "parsed" : "converted" });
  } catch (error) {
    if (error instanceof TypeMismatch) throw patchDoesNotApply(error.message, shown);
    throw error;
  }
}

/** The faults of a patched document that it did not have before the patch: another version of the server may know other fields. */
function newFaults<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  { found, document }: { readonly found: readonly string[]; readonly document: ApiObject },
): readonly string[] {
  try {
    const known = new Set(decodeObject(registry, { value: document }).strictFaults);
    return found.filter((fault) => !known.has(fault));
  } catch (error) {
    if (error instanceof TypeMismatch) return found; // the patch has repaired a field of a wrong type
    throw error;
  }
}

interface StrictReport {
  readonly request: PatchRequest;
  readonly shown?: StrategicMergePatch | undefined;
}

function reportStrictFaults(faults: readonly string[], { request: { options, caller }, shown }: StrictReport): void {
  if (faults.length === 0 || options.fieldValidation === "Ignore") return;
  if (options.fieldValidation === "Strict")
    throw patchDoesNotApply(`strict decoding error: ${faults.join(", ")}`, shown);
  for (const fault of faults) caller.warn(fault);
}

function reportRepeatedKeys(keys: readonly RepeatedKey[], { options, caller }: PatchRequest): void {
  if (keys.length === 0 || options.fieldValidation === "Ignore") return;
  if (options.fieldValidation === "Strict") {
    throw badRequest(`error strict decoding YAML: error converting YAML to JSON: ${repeatedKeysFault(keys)}`);
  }
  for (const key of keys) caller.warn(repeatedKeyFault(key));
}

function placedObject<T extends ApiObject>(
  { definition }: ResourceRegistry<T>,
  { object, request }: { readonly object: T; readonly request: PatchRequest },
): T {
  const placed = inRequestNamespace(object, { scope: definition.scope, namespace: request.namespace });
  checkName(placed, request.name);
  return placed;
}
