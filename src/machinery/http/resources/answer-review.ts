import type { ApiObject } from "../../api/object-meta.ts";
import type { Status } from "../../api/status.ts";
import { apiVersionOf } from "../../api/resource-type.ts";
import type { HttpResponse } from "../../api/http-message.ts";
import type { GroupVersion } from "../../api/resource-type.ts";
import { compiledPartialMetadata, partialObjectMetadata } from "../../registry/reads/partial-object-metadata.ts";
import { createReview } from "../../registry/writes/create-review.ts";
import type { AnsweredReview } from "../../registry/writes/create-review.ts";
import { parseWriteOptions } from "../../registry/writes/write-options.ts";
import { pauseInTurn } from "../../scheduling/request-turn.ts";
import { negotiate } from "../negotiation.ts";
import { compiledStatus } from "../response.ts";
import { longRequestTurn } from "./long-request-turn.ts";
import { notOfAList, representObject } from "./represent-object.ts";
import { decodeBody } from "./decode-body.ts";
import { readBody } from "./request-body.ts";
import { requestCaller, requestManager } from "./resource-request.ts";
import type { ResourceRequest } from "./resource-request.ts";

/**
 * A review contains a token, or a user with groups and extra fields. The headers for these are less than half as large.
 * Everyone may send reviews, and the answer repeats their content.
 */
const maximumReviewBytes = 256 * 1024;

/** Answers kinds that are never stored: reviews and token requests. */
export async function answerReview(review: AnsweredReview, resourceRequest: ResourceRequest): Promise<HttpResponse> {
  const { request, info, warnings, admission, clock, audited } = resourceRequest;
  const mediaType = negotiate(request, "object without a table");
  const body = await readBody(resourceRequest, maximumReviewBytes);
  const options = parseWriteOptions(request.query, { kind: "CreateOptions" });
  const { fieldValidation } = options;
  const { schema } = review;
  const object = await decodeBody(body, {
    sender: resourceRequest,
    expected: review,
    schema,
    fieldValidation,
  });
  const requested = requestedVersion(review, object.apiVersion);
  audited?.recordObject?.({ ...object, kind: review.kind, apiVersion: apiVersionOf(requested) });
  const answer = await createReview({
    review,
    requested,
    resource: { group: info.group, version: info.version, plural: info.resource },
    subresource: info.subresource,
    namespace: info.namespace,
    name: info.name,
    admission,
    object,
    manager: requestManager(request, options),
    caller: requestCaller(resourceRequest, options),
    now: clock.now(),
  });
  for (const warning of answer.warnings ?? []) warnings.add(warning);
  const afterAnswer = pauseInTurn();
  if (afterAnswer !== undefined) await afterAnswer;
  // The rules of a user may be long, and YAML takes a hundred times as long to write as JSON.
  if (mediaType.format === "yaml") await longRequestTurn(resourceRequest);
  const representation = { request, status: 201, mediaType };
  if (isStatus(answer.object)) return representObject(answer.object, { ...representation, schema: compiledStatus });
  if (mediaType.conversion?.kind === "PartialObjectMetadataList") throw notOfAList(review);
  if (mediaType.conversion?.kind !== "PartialObjectMetadata") {
    return representObject(answer.object, { ...representation, schema });
  }
  const partial = partialObjectMetadata(answer.object, mediaType.conversion.version);
  return representObject(partial, { ...representation, schema: compiledPartialMetadata });
}

const isStatus = (object: ApiObject | Status): object is Status => object.kind === "Status";

/** The path of a review names its version. At the path of a subresource, the body names it. */
const requestedVersion = (review: AnsweredReview, apiVersion: string): GroupVersion =>
  review.otherVersions.find((other) => apiVersionOf(other) === apiVersion) ?? review;
