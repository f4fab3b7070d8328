import type { HttpResponse } from "../../api/http-message.ts";
import { createReview } from "../../registry/create-review.ts";
import type { CreateSubresource, ReviewDefinition } from "../../registry/resource-definition.ts";
import { parseWriteOptions } from "../../registry/write-options.ts";
import { negotiate } from "../negotiation.ts";
import { representObject } from "./represent-object.ts";
import { decodeBody, decodeWith, readBody } from "./request-object.ts";
import { requestCaller } from "./request-caller.ts";
import { requestManager } from "./request-manager.ts";
import type { ResourceRequest } from "./resource-request.ts";

/**
 * A review holds a token, or a user with groups and extras: no header that brings them is half as large. Everybody may
 * send one, and it is answered with what it says.
 */
const maximumReviewBytes = 256 * 1024;

/** Answers a kind that is never stored: reviews and token requests. */
export async function answerReview(
  review: ReviewDefinition | CreateSubresource,
  resourceRequest: ResourceRequest,
): Promise<HttpResponse> {
  const { request, info, warnings, admission, clock } = resourceRequest;
  const mediaType = negotiate(request, { isCollection: false, allowsTable: false });
  const body = await readBody(request, maximumReviewBytes);
  const options = parseWriteOptions(request.query, { kind: "CreateOptions" });
  const { fieldValidation } = options;
  const answer = await createReview({
    review,
    resource: { group: info.group, version: info.version, plural: info.resource },
    subresource: info.subresource,
    namespace: info.namespace,
    name: info.name,
    admission,
    object: decodeBody(body, { expected: review, fieldValidation, warnings, decode: decodeWith(review.schema) }),
    manager: requestManager(request, options),
    caller: requestCaller(resourceRequest, options),
    now: clock.now(),
  });
  for (const warning of answer.warnings ?? []) warnings.add(warning);
  return representObject(review.schema, answer.object, { request, status: 201, mediaType });
}
