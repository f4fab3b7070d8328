import { badRequest } from "../../api/api-error.ts";
import type { HttpResponse } from "../../api/http-message.ts";
import { andThen } from "../../api/maybe-promise.ts";
import type { MaybePromise } from "../../api/maybe-promise.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import type { StatusDetails } from "../../api/status.ts";
import { createObject } from "../../registry/writes/create-object.ts";
import { patchObject } from "../../registry/writes/patch-object.ts";
import type { ResourceRegistry } from "../../registry/resource-registry.ts";
import type { StoredObject } from "../../registry/stored/stored-object.ts";
import { updateObject } from "../../registry/writes/update-object.ts";
import type { Changed } from "../../registry/writes/update-object.ts";
import { parseJsonInSteps } from "../../schema/parse-json.ts";
import { maximumPatchValues } from "../../schema/value-limit.ts";
import { decodeUtf8InTurns } from "../decode-utf8-in-turns.ts";
import { parseWriteOptions } from "../../registry/writes/write-options.ts";
import type { WriteOptions } from "../../registry/writes/write-options.ts";
import { inTurns, pauseInTurn, requestTurn, smallObjectLength } from "../../scheduling/request-turn.ts";
import { patchType } from "../content-type.ts";
import type { RecordObject } from "../request-audit.ts";
import { negotiate } from "../negotiation.ts";
import { YamlFault } from "../yaml/yaml-to-json.ts";
import type { MediaType } from "../negotiation.ts";
import { answerReview } from "./answer-review.ts";
import { decodeBody } from "./decode-body.ts";
import { negotiateObject } from "./read-requests.ts";
import { isStoredText, representStored } from "./represent-object.ts";
import { readBody, readBytes, readYaml } from "./request-body.ts";
import type { RequestBody } from "./request-body.ts";
import { requestCaller, requestManager } from "./resource-request.ts";
import type { ResourceRequest } from "./resource-request.ts";
import { accessDenied } from "../../api/access-denied.ts";

/** POST: creates an object, or answers a create subresource. */
export async function createRequest(
  registry: ResourceRegistry,
  resourceRequest: ResourceRequest,
): Promise<HttpResponse> {
  const { request, info, audited } = resourceRequest;
  const review = registry.compiled.created.get(info.subresource);
  if (review !== undefined) {
    return answerReview({ ...review, ...registry.answerOf(info.subresource) }, resourceRequest);
  }
  const mediaType = negotiate(request, "object");
  const body = await readBody(resourceRequest);
  const options = parseWriteOptions(request.query, { kind: "CreateOptions" });
  const object = await decodedObject(registry, { body, options, resourceRequest });
  audited?.nameObject(object.metadata.name);
  audited?.recordObject?.(registry.served.object(object));
  const created = await createObject(registry, {
    object,
    namespace: info.namespace,
    manager: requestManager(request, options),
    caller: requestCaller(resourceRequest, options),
  });
  return representWritten(created, { registry, resourceRequest, status: 201, mediaType });
}

/** PUT. */
export async function updateRequest(
  registry: ResourceRegistry,
  resourceRequest: ResourceRequest,
): Promise<HttpResponse> {
  const { request, audited } = resourceRequest;
  const mediaType = negotiateObject(registry, resourceRequest);
  const options = parseWriteOptions(request.query, { kind: "UpdateOptions" });
  const body = await readBody(resourceRequest);
  const object = await decodedObject(registry, { body, options, resourceRequest });
  const { resourceVersion } = object.metadata;
  audited?.recordObject?.(registry.served.object(object));
  const changed = await updateObject(registry, { object, ...requestedChange(resourceRequest, options) });
  return representChanged(registry, { changed, resourceRequest, mediaType, resourceVersion });
}

/** PATCH, of any type. */
export async function patchRequest(
  registry: ResourceRegistry,
  resourceRequest: ResourceRequest,
): Promise<HttpResponse> {
  const { request, audited } = resourceRequest;
  const type = patchType(request.headers);
  const mediaType = negotiateObject(registry, resourceRequest);
  const bytes = await readBytes(resourceRequest);
  const options = parseWriteOptions(request.query, { kind: "PatchOptions", isApply: type === "apply" });
  const text = type === "apply" ? await appliedJson(bytes, resourceRequest) : await decodeUtf8InTurns(bytes);
  await pauseInTurn();
  if (audited?.recordObject !== undefined) await recordPatch(audited.recordObject, text);
  const change = requestedChange(resourceRequest, options);
  const changed = await patchObject(registry, { type, text, options, ...change });
  return representChanged(registry, { changed, resourceRequest, mediaType });
}

/** What a PUT and a PATCH say alike: which object changes, and who changes it. */
function requestedChange(resourceRequest: ResourceRequest, options: WriteOptions) {
  const { request, info } = resourceRequest;
  const { namespace, name, subresource } = info;
  return {
    namespace,
    name,
    subresource,
    manager: requestManager(request, options),
    caller: requestCaller(resourceRequest, options),
    authorizeCreate: () => authorizeCreate(resourceRequest),
  };
}

/** Records a patch in the audit log. Omits a text that is not JSON, is too deep or has too many values: the patch is refused later. */
async function recordPatch(recordObject: RecordObject, text: string): Promise<void> {
  const reading = parseJsonInSteps(text, { maximumValues: maximumPatchValues, replacesRepeated: true });
  try {
    recordObject((await inTurns(reading)).value);
  } catch {
    // Refused later, with its reason.
  }
}

/** Converts an applied configuration to JSON. */
async function appliedJson(bytes: Buffer, resourceRequest: ResourceRequest): Promise<string> {
  try {
    return await readYaml(bytes, resourceRequest);
  } catch (error) {
    throw error instanceof YamlFault
      ? badRequest(`error decoding YAML: error converting YAML to JSON: ${error.message}`)
      : error;
  }
}

interface Decoding {
  readonly body: RequestBody;
  readonly options: WriteOptions;
  readonly resourceRequest: ResourceRequest;
}

function decodedObject(
  registry: ResourceRegistry,
  { body, options, resourceRequest }: Decoding,
): MaybePromise<ApiObject> {
  return decodeBody(body, {
    sender: resourceRequest,
    expected: registry.definition,
    schema: registry.compiled.schema,
    fieldValidation: options.fieldValidation,
    registry,
  });
}

const representChanged = (
  registry: ResourceRegistry,
  { changed, ...answer }: Omit<WrittenAnswer, "registry" | "status"> & { readonly changed: Changed<ApiObject> },
): MaybePromise<HttpResponse> =>
  representWritten(changed.object, { ...answer, registry, status: changed.isCreated ? 201 : 200 });

interface WrittenAnswer {
  readonly registry: ResourceRegistry;
  readonly resourceRequest: ResourceRequest;
  readonly status: number;
  readonly mediaType: MediaType;
  /** The resourceVersion that an update names. */
  readonly resourceVersion?: string | undefined;
}

/** The answer to a write. Converting a long object to another form waits for a second turn, because the turn of the write is over. */
export function representWritten(
  stored: StoredObject,
  { registry, resourceRequest, status, mediaType, resourceVersion }: WrittenAnswer,
): MaybePromise<HttpResponse> {
  const { request, user, audited } = resourceRequest;
  const representation = { registry, request, status, mediaType };
  const shown = (): MaybePromise<HttpResponse> => representStored(stored, representation);
  const isShownAtOnce = isStoredText(representation) || stored.textLength <= smallObjectLength;
  const response = isShownAtOnce ? shown() : requestTurn(user).then(shown);
  return andThen(response, (encoded) => withAuditDetails(encoded, { stored, audited, resourceVersion }));
}

interface AuditDetails extends Pick<ResourceRequest, "audited"> {
  readonly stored: StoredObject;
  readonly resourceVersion?: string | undefined;
  /** The details of the Status that is answered. */
  readonly success?: StatusDetails | undefined;
}

/** Returns the answer with details for the audit log: those of the written object, and the resourceVersion that an update names. */
export function withAuditDetails(
  response: HttpResponse,
  { stored, audited, resourceVersion, success }: AuditDetails,
): HttpResponse {
  // Nothing is recorded, so the object need not be parsed.
  if (audited === undefined) return response;
  const { name, uid } = stored.object.metadata;
  return {
    ...response,
    audited: {
      ...(success !== undefined && { success }),
      object: {
        ...(name !== undefined && { name }),
        ...(uid !== undefined && { uid }),
        ...(resourceVersion !== undefined && { resourceVersion }),
      },
    },
  };
}

/** An update that would create an object also requires the create permission. */
async function authorizeCreate({ authorize, info, user }: ResourceRequest): Promise<void> {
  const { group, version, resource, namespace, name } = info;
  const attributes = {
    kind: "resource" as const,
    user,
    verb: "create",
    group,
    version,
    resource,
    subresource: "",
    namespace,
    name,
  };
  const { decision, reason } = await authorize(attributes);
  if (decision !== "allow") throw accessDenied(attributes, reason);
}
