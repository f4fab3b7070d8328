import { badRequest } from "../../api/api-error.ts";
import type { HttpResponse } from "../../api/http-message.ts";
import type { MaybePromise } from "../../api/maybe-promise.ts";
import { shortTextLength, smallObjectLength } from "../../scheduling/request-turn.ts";
import { listObjects } from "../../registry/reads/list-objects.ts";
import { parseListOptions } from "../../registry/reads/list-options.ts";
import { parametersOf, parseBoolean } from "../../registry/query-values.ts";
import type { ResourceRegistry } from "../../registry/resource-registry.ts";
import type { StoredObject } from "../../registry/stored/stored-object.ts";
import { negotiate, refuseUnstreamable } from "../negotiation.ts";
import type { MediaType } from "../negotiation.ts";
import { longRequestTurn } from "./long-request-turn.ts";
import type { TurnTaker } from "./long-request-turn.ts";
import { representList } from "./represent-list.ts";
import { isStoredText, representStored } from "./represent-object.ts";
import type { ResourceRequest } from "./resource-request.ts";
import { watchResponse } from "./watch-response.ts";

/** Negotiates the representation of an object, or of one of its subresources. Throws a 406. */
export function negotiateObject(
  { definition }: ResourceRegistry,
  { request, info: { subresource } }: Pick<ResourceRequest, "request" | "info">,
): MediaType {
  const found = definition.subresources?.[subresource];
  const allowsTable = subresource === "" || (found?.type === "update" && found.allowsTable !== false);
  return negotiate(request, allowsTable ? "object" : "object without a table");
}

/** GET of an object, also by the path of a subresource. */
export function getRequest(
  registry: ResourceRegistry,
  resourceRequest: Pick<ResourceRequest, "info"> & TurnTaker,
): MaybePromise<HttpResponse> {
  const { request, info } = resourceRequest;
  const mediaType = negotiateObject(registry, resourceRequest);
  const found = registry.get(info, { resourceVersion: resourceVersionOf(request.query), waiter: request });
  const representation = { registry, request, status: 200, mediaType };
  const longest = isStoredText(representation) ? shortTextLength : smallObjectLength;
  if (!(found instanceof Promise) && found.textLength <= longest) return representStored(found, representation);
  return inTurn(resourceRequest, { found, longest }).then((stored) => representStored(stored, representation));
}

interface Found {
  readonly found: MaybePromise<StoredObject>;
  /** The length of the longest object that is answered without a turn, in characters. */
  readonly longest: number;
}

/** Waits for the object, and for a turn if it is long. */
async function inTurn(resourceRequest: TurnTaker, { found, longest }: Found): Promise<StoredObject> {
  const stored = await found;
  if (stored.textLength > longest) await longRequestTurn(resourceRequest);
  return stored;
}

/** The version that a GET of an object asks for. Throws a 400 for `export`, which upstream refuses too. */
function resourceVersionOf(query: string): string {
  if (query === "") return "";
  const parameters = parametersOf(query);
  if (parseBoolean(parameters, "export") === true) {
    throw badRequest("the export parameter, deprecated since v1.14, is no longer supported");
  }
  return parameters.get("resourceVersion") ?? "";
}

export async function listRequest(
  registry: ResourceRegistry,
  { request, info, user }: ResourceRequest,
): Promise<HttpResponse> {
  const mediaType = negotiate(request, "collection");
  const { namespace, name } = info;
  const options = parseListOptions(registry.definition, { query: request.query, namespace, name });
  const list = await listObjects(registry, { ...options, waiter: request, user });
  return representList(list, { registry, request, user, status: 200, mediaType });
}

export function watchRequest(
  registry: ResourceRegistry,
  { request, info, user, schedule }: ResourceRequest,
): HttpResponse {
  const mediaType = negotiate(request, "collection");
  const { namespace, name } = info;
  const options = parseListOptions(registry.definition, { query: request.query, namespace, name });
  refuseUnstreamable(mediaType); // last, as upstream
  return watchResponse(registry, { request, user, options, mediaType, schedule });
}
