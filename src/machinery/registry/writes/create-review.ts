import type { AdmissionRule } from "../../api/attributes.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import { invalid } from "../../api/api-error.ts";
import { apiVersionOf } from "../../api/resource-type.ts";
import type { GroupVersion } from "../../api/resource-type.ts";
import { pauseInTurn } from "../../scheduling/request-turn.ts";
import { admit, validateAdmission } from "../admission.ts";
import type { AdmissionTarget } from "../admission.ts";
import type { Caller } from "../caller.ts";
import type { CompiledReview } from "../definition/compile-kind.ts";
import { withoutSystemFields } from "./create-object.ts";
import { inRequestNamespace } from "./requested-name.ts";
import type { AnswerCreate, ReviewAnswer } from "../definition/review-definition.ts";

/** A kind that can only be created, with the functions that answer it. */
export interface AnsweredReview extends CompiledReview, AnswerCreate {}

export interface CreateReviewRequest {
  readonly review: AnsweredReview;
  /** The group and version of the body. */
  readonly requested: GroupVersion;
  /** The resource in the path; for a subresource, the resource that it belongs to. */
  readonly resource: Pick<AdmissionTarget["definition"], "group" | "version" | "plural">;
  readonly subresource: string;
  readonly namespace: string;
  /** The object that a subresource belongs to, otherwise empty. */
  readonly name: string;
  readonly admission: readonly AdmissionRule[];
  /** Decoded. */
  readonly object: ApiObject;
  readonly manager: string;
  readonly caller: Caller;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Answers the creation of a kind that is never stored: a review, or a subresource that can only be created. It passes admission
 * like every other create, because an issued token may be more valuable than a stored object. Throws the errors of admission and
 * of the kind.
 */
export async function createReview(request: CreateReviewRequest): Promise<ReviewAnswer> {
  const { review, requested, resource, subresource, namespace, admission, caller, now } = request;
  const afterDecoding = pauseInTurn();
  if (afterDecoding !== undefined) await afterDecoding;
  const tracked = trackedReview(request);
  const afterTracking = pauseInTurn();
  if (afterTracking !== undefined) await afterTracking;
  // Only the metadata: the kind's own checks of other integers have lower limits, and their own messages.
  const faults = review.schema.inexactIntegers({ metadata: tracked.metadata });
  if (faults.length > 0) throw invalid({ group: requested.group, resource: review.kind }, { faults });
  const name = request.name || (tracked.metadata.name ?? "");
  const { group, version, plural } = resource;
  const storedAs = subresource === "" ? review.storedAs : { group, version };
  const target = { definition: { group, version, plural, kind: review.kind, storedAs }, admission };
  const subject = { operation: "CREATE", caller, subresource, namespace, name, pathName: request.name } as const;
  const admitting = admit(target, { ...subject, object: tracked });
  const admitted = (admitting instanceof Promise ? await admitting : admitting) ?? tracked;
  const context = {
    user: caller.user,
    requestedGroup: requested.group,
    namespace,
    name: request.name,
    caller,
    now,
  };
  const object = review.prepareForCreate?.(admitted, context) ?? admitted;
  const validating = validateAdmission(target, { ...subject, object });
  const { isDryRun } = validating instanceof Promise ? await validating : validating;
  return review.create(object, { ...context, isDryRun });
}

function trackedReview({
  review,
  requested,
  object,
  namespace,
  subresource,
  manager,
  now,
}: CreateReviewRequest): ApiObject {
  const apiVersion = apiVersionOf(requested);
  const scope = namespace === "" ? "Cluster" : "Namespaced";
  const typed = { ...object, kind: review.kind, apiVersion };
  // For a subresource, keep the uid: in a token request, it identifies the account (upstream: `SubresourceObjectMetaPreserver`).
  const sent = subresource === "" ? withoutSystemFields(typed) : typed;
  const placed = inRequestNamespace(sent, { scope, namespace });
  if (review.dropsMetadata) return placed;
  return review.tracked.track({ compiled: review.schema, manager, apiVersion, subresource, now }, placed);
}
