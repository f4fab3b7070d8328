import type { HttpResponse } from "../../api/http-message.ts";
import { trackReview } from "../../registry/apply/track-review.ts";
import { withoutSystemFields } from "../../registry/create-object.ts";
import type { CreateSubresource, ReviewDefinition } from "../../registry/resource-definition.ts";
import { inRequestNamespace } from "../../registry/object-namespace.ts";
import { parseWriteOptions } from "../../registry/write-options.ts";
import { negotiate } from "../negotiation.ts";
import { representObject } from "./represent-object.ts";
import { decodeBody, decodeWith, readBody } from "./request-object.ts";
import { requestManager } from "./request-manager.ts";
import type { ResourceRequest } from "./resource-handler.ts";

/**
 * A review holds a token, or a user with groups and extras: no header that brings them is half as large. Everybody may
 * send one, and it is answered with what it says.
 */
const maximumReviewBytes = 256 * 1024;

export interface ReviewRequest {
  readonly review: ReviewDefinition | CreateSubresource;
  readonly resourceRequest: ResourceRequest;
  /** Of the object that a create subresource belongs to, else "". */
  readonly name: string;
}

/** Answers a kind that is never stored: reviews and token requests. */
export async function answerReview({ review, resourceRequest, name }: ReviewRequest): Promise<HttpResponse> {
  const { request, info, user, warnings, clock } = resourceRequest;
  const mediaType = negotiate(request, { isCollection: false, allowsTable: false });
  const body = await readBody(request, maximumReviewBytes);
  const { isDryRun, fieldValidation, fieldManager } = parseWriteOptions(request.query, { kind: "CreateOptions" });
  const decoded = decodeBody(body, { expected: review, fieldValidation, warnings, decode: decodeWith(review.schema) });
  const apiVersion = review.group === "" ? review.version : `${review.group}/${review.version}`;
  const { namespace } = info;
  const scope = namespace === "" ? "Cluster" : "Namespaced";
  const sent = withoutSystemFields({ ...decoded, kind: review.kind, apiVersion });
  const object = inRequestNamespace(sent, { scope, namespace });
  const now = clock.now();
  const dropsMetadata = "dropsMetadata" in review && review.dropsMetadata;
  const tracked = dropsMetadata
    ? object
    : trackReview(
        {
          schema: review.schema,
          manager: requestManager(request, { fieldManager }),
          apiVersion,
          subresource: info.subresource,
          now,
        },
        object,
      );
  const answer = await review.create(tracked, { user, namespace, name, isDryRun, now });
  for (const warning of answer.warnings ?? []) warnings.add(warning);
  const response = representObject(review.schema, answer.object, { request, status: 201, mediaType });
  return warnings.addTo(response);
}
