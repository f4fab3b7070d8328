import { badRequest } from "../../api/api-error.ts";
import type { HttpResponse } from "../../api/http-message.ts";
import type { MaybePromise } from "../../api/maybe-promise.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import type { Status, StatusDetails } from "../../api/status.ts";
import { deleteCollection } from "../../registry/writes/delete-collection.ts";
import { deleteObject } from "../../registry/writes/delete-object.ts";
import {
  compiledDeleteOptions,
  deleteOptionsOfBody,
  deleteOptionsOfQuery,
} from "../../registry/writes/delete-options.ts";
import type { DeleteOptions } from "../../registry/writes/delete-options.ts";
import { parseListOptions } from "../../registry/reads/list-options.ts";
import { listMetadata } from "../../registry/reads/partial-object-metadata.ts";
import { parseIncludeObject } from "../../registry/reads/table.ts";
import type { ResourceRegistry } from "../../registry/resource-registry.ts";
import { bodyFormat } from "../content-type.ts";
import { negotiate } from "../negotiation.ts";
import { compiledStatus } from "../response.ts";
import { representList } from "./represent-list.ts";
import { representObject } from "./represent-object.ts";
import type { Representation } from "./represent-object.ts";
import { parseValue, typeOf } from "./decode-body.ts";
import { readableBody, readBytes } from "./request-body.ts";
import { requestCaller } from "./resource-request.ts";
import type { ResourceRequest } from "./resource-request.ts";
import { representWritten, withAuditDetails } from "./write-requests.ts";

/** Delete options are short. */
const maximumOptionsBytes = 64 * 1024;

/**
 * DELETE of one object. Answers the object while finalizers keep it, else the deleted object or a Status, as the kind
 * says.
 */
export async function deleteRequest(
  registry: ResourceRegistry,
  resourceRequest: ResourceRequest,
): Promise<HttpResponse> {
  const { request, info } = resourceRequest;
  const mediaType = negotiate(request, "object");
  const options = await readDeleteOptions(resourceRequest);
  const { namespace, name } = info;
  const deletion = await deleteObject(registry, {
    namespace,
    name,
    options,
    caller: requestCaller(resourceRequest, options),
  });
  // Upstream's rule for old clients. In all other cases, the answer for a kept object is a 200.
  const status = !deletion.isRemoved && options.orphanDependents === false ? 202 : 200;
  const { object: stored, isRemoved } = deletion;
  if (!isRemoved || registry.definition.answersDeletedObject === true) {
    return representWritten(stored, { registry, resourceRequest, status, mediaType });
  }
  const deleted = success(deletedDetails(registry, stored.object));
  const response = await representSuccess(deleted, { request, status, mediaType });
  return withAuditDetails(response, { stored, audited: resourceRequest.audited, success: deleted.details });
}

/** DELETE of a collection. Answers the deleted objects or a Status, as the kind says. */
export async function deleteCollectionRequest(
  registry: ResourceRegistry,
  resourceRequest: ResourceRequest,
): Promise<HttpResponse> {
  const { request, info, user } = resourceRequest;
  const mediaType = negotiate(request, "object");
  const { namespace } = info;
  const list = parseListOptions(registry.definition, { query: request.query, namespace, name: "" });
  const options = await readDeleteOptions(resourceRequest);
  const deleted = await deleteCollection(registry, {
    list,
    options,
    caller: requestCaller(resourceRequest, options),
    refuseRevoked: resourceRequest.refuseRevoked,
  });
  const representation = { registry, request, status: 200, mediaType };
  const { group, plural, answersStatusOfDeletedCollection = false } = registry.definition;
  if (!answersStatusOfDeletedCollection) return representList(deleted, { ...representation, user });
  const { continue: next, remainingItemCount } = listMetadata(deleted);
  const details = { ...(group !== "" && { group }), kind: plural };
  const status: Status = {
    ...success(details),
    metadata: {
      ...(next !== undefined && { continue: next, ...(remainingItemCount !== undefined && { remainingItemCount }) }),
    },
  };
  const response = await representSuccess(status, representation);
  return { ...response, audited: { success: details } };
}

/** Encodes a Status. It is answered instead of a table too, but as in upstream, the options of that table must be right. */
function representSuccess(status: Status, representation: Representation): MaybePromise<HttpResponse> {
  const { request, mediaType } = representation;
  if (mediaType.conversion?.kind === "Table") parseIncludeObject(request.query);
  return representObject(status, { ...representation, schema: compiledStatus });
}

/** A body takes precedence. The query counts only without a body. */
async function readDeleteOptions(resourceRequest: ResourceRequest): Promise<DeleteOptions> {
  const { request, audited } = resourceRequest;
  const bytes = await readBytes(resourceRequest, maximumOptionsBytes);
  if (bytes.length === 0) return deleteOptionsOfQuery(request.query);
  const body = { format: bodyFormat(request.headers), bytes };
  const readable = await readableBody(body, resourceRequest);
  const { value } = parseValue(readable, { schema: compiledDeleteOptions, refuse: badRequest });
  const { kind } = typeOf(value, { format: body.format, refuse: badRequest });
  if (kind !== "" && kind !== "DeleteOptions") throw badRequest("decoded object cannot be converted to DeleteOptions");
  audited?.recordObject?.(value);
  return deleteOptionsOfBody(value ?? {});
}

const success = (details: StatusDetails): Status => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Success",
  details,
});

function deletedDetails({ definition }: ResourceRegistry, { metadata }: ApiObject): StatusDetails {
  const { name = "", uid } = metadata;
  return {
    name,
    ...(definition.group !== "" && { group: definition.group }),
    kind: definition.plural,
    ...(uid !== undefined && { uid }),
  };
}
