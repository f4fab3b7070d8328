import { ApiError, badRequest, pathNotFound, RouteError } from "../../api/api-error.ts";
import type { AdmissionRule, Authorize, Verb } from "../../api/attributes.ts";
import { systemClock, systemSchedule } from "../../api/clock.ts";
import type { Clock, Schedule } from "../../api/clock.ts";
import type { HttpResponse } from "../../api/http-message.ts";
import type { MaybePromise } from "../../api/maybe-promise.ts";
import { smallObjectLength } from "../../scheduling/request-turn.ts";
import type { ResourceRequest } from "./resource-request.ts";
import { compileReview } from "../../registry/definition/compile-kind.ts";
import type { AnsweredReview } from "../../registry/writes/create-review.ts";
import type { ReviewDefinition } from "../../registry/definition/review-definition.ts";
import type { ResourceRegistry } from "../../registry/resource-registry.ts";
import type { ResourceRequestInfo } from "../request-info.ts";
import type { HandleResource } from "../request-chain.ts";
import { longRequestTurn } from "./long-request-turn.ts";
import { errorResponse } from "../response.ts";
import { answerReview } from "./answer-review.ts";
import { deleteCollectionRequest, deleteRequest } from "./delete-requests.ts";
import { getRequest, listRequest, watchRequest } from "./read-requests.ts";
import { Warnings } from "../warnings.ts";
import { createRequest, patchRequest, updateRequest } from "./write-requests.ts";

export interface ResourceHandlerOptions {
  readonly registries: readonly ResourceRegistry[];
  readonly reviews: readonly ReviewDefinition[];
  /** The admission rules for reviews and create subresources. Writes to a registry use the registry's own rules. */
  readonly admission: readonly AdmissionRule[];
  /** Called when an update or apply would create an object, in addition to the check of the request's own verb. */
  readonly authorize: Authorize;
  readonly clock?: Clock;
  /** The timers of watches. */
  readonly schedule?: Schedule;
}

/**
 * Answers authorized requests for served resources and verbs. A get of a cached object that is short returns without a promise, unless as
 * YAML. Throws or rejects with ApiErrors.
 */
export function createResourceHandler({
  registries,
  reviews,
  admission,
  authorize,
  clock = systemClock,
  schedule = systemSchedule,
}: ResourceHandlerOptions): HandleResource {
  const registryOf = new Map(
    registries.flatMap(({ versions }) => versions.map((registry) => [keyOf(registry.definition), registry])),
  );
  const reviewOf = new Map<string, AnsweredReview>(
    reviews.map((review) => [
      keyOf(review),
      { ...compileReview(review), create: (object, context) => review.create(object, context) },
    ]),
  );
  return (authorized) => {
    const { info } = authorized;
    const missing = missingParameter(info);
    if (missing !== undefined) throw badRequest(missing);
    const key = keyOf({ group: info.group, version: info.version, plural: info.resource });
    const registry = registryOf.get(key);
    if (registry !== undefined && info.verb === "get" && registry.compiled.deprecationWarning === undefined) {
      return getRequest(registry, authorized);
    }
    const { request, user, refuseRevoked, audited } = authorized;
    const warnings = new Warnings();
    const resourceRequest = {
      request,
      info,
      user,
      refuseRevoked,
      audited,
      mayTakeLong: registry !== undefined && mayTakeLong(registry, info),
      warnings,
      admission,
      authorize,
      clock,
      schedule,
    };
    if (registry !== undefined) {
      const { deprecationWarning } = registry.compiled;
      if (deprecationWarning !== undefined) warnings.add(deprecationWarning);
      const { deprecation } = registry.definition;
      if (deprecation !== undefined) {
        audited?.annotate({ "k8s.io/deprecated": "true", "k8s.io/removed-release": deprecation.unavailableIn });
      }
      // Verbs with a body wait for a turn after they have read it, because many bodies may come at the same time.
      const waitsNow = resourceRequest.mayTakeLong && bodiless.has(info.verb);
      const answer = waitsNow ? answerInTurn : answers[info.verb];
      return withWarnings(resourceRequest, () => answer(registry, resourceRequest));
    }
    const review = reviewOf.get(key);
    if (review === undefined) throw pathNotFound();
    return withWarnings(resourceRequest, () => answerReview(review, resourceRequest));
  };
}

/** The name or the namespace that a path leaves empty (`/namespaces//secrets/a`), in upstream's words. */
function missingParameter({
  verb,
  subresource,
  name,
  isBelowNamespace,
  namespace,
}: ResourceRequestInfo): string | undefined {
  if (subresource !== "" && name === "") return "name must be provided";
  const isAllowed = subresource === "" && allowsNoNamespace.has(verb);
  return isBelowNamespace && namespace === "" && !isAllowed ? "Namespace parameter required." : undefined;
}

/** Lists and watches read all namespaces. The validation of a create reports a missing namespace. */
const allowsNoNamespace: ReadonlySet<Verb> = new Set<Verb>(["list", "watch", "create"]);

const keyOf = ({ group, version, plural }: Readonly<Record<"group" | "version" | "plural", string>>): string =>
  `${group}/${version}/${plural}`;

async function answerInTurn(registry: ResourceRegistry, resourceRequest: ResourceRequest): Promise<HttpResponse> {
  await longRequestTurn(resourceRequest);
  return answers[resourceRequest.info.verb](registry, resourceRequest);
}

/** Whether the request may take long. A create knows it only from its body, and a get from the object that it finds. */
function mayTakeLong(registry: ResourceRegistry, info: ResourceRequestInfo): boolean {
  if (info.verb === "create" || info.verb === "get") return false;
  return isOfMany.has(info.verb) || (registry.peek(info)?.textLength ?? 0) > smallObjectLength;
}

const bodiless: ReadonlySet<Verb> = new Set<Verb>(["list", "watch"]);
const isOfMany: ReadonlySet<Verb> = new Set<Verb>(["list", "watch", "deletecollection"]);

/** Failures carry the warnings too, except for requests that upstream's router refuses. */
async function withWarnings(
  { request, warnings }: ResourceRequest,
  answer: () => MaybePromise<HttpResponse>,
): Promise<HttpResponse> {
  try {
    return warnings.addTo(await answer());
  } catch (error) {
    if (error instanceof ApiError && !(error instanceof RouteError))
      return warnings.addTo(errorResponse(error, request));
    throw error;
  }
}

type Answer = (registry: ResourceRegistry, request: ResourceRequest) => MaybePromise<HttpResponse>;

const answers: Readonly<Record<Verb, Answer>> = {
  get: getRequest,
  list: listRequest,
  watch: watchRequest,
  create: createRequest,
  update: updateRequest,
  patch: patchRequest,
  delete: deleteRequest,
  deletecollection: deleteCollectionRequest,
};
