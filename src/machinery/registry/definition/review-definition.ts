import type { ApiObject } from "../../api/object-meta.ts";
import type { GroupVersion, ResourceType } from "../../api/resource-type.ts";
import type { Status } from "../../api/status.ts";
import type { ObjectSchema } from "../../schema/schema.ts";
import type { Caller } from "../caller.ts";
import type { HookContext } from "./resource-definition.ts";

/** Answers the creation of an object that is never stored. */
export interface AnswerCreate {
  /**
   * Sets the fields that the server decides, before validating admission, so that admission rules see their values. Throws an ApiError for
   * an invalid object. Default: the object stays unchanged.
   */
  prepareForCreate?(object: ApiObject, context: Omit<ReviewContext, "isDryRun">): ApiObject;
  create(object: ApiObject, context: ReviewContext): Promise<ReviewAnswer>;
}

/** The definition of a review: a kind that is answered and never stored. */
export interface ReviewDefinition<T extends ApiObject = ApiObject> extends ResourceType<T> {
  /** The group and version that admission rules see, if this definition serves the kind under another one. */
  readonly storedAs?: GroupVersion;
  readonly schema: ObjectSchema<T>;
  /** See `confidentialFields` of a create subresource. */
  readonly confidentialFields?: readonly (readonly string[])[];
  /** The answer contains none of the request's metadata, so managedFields need not be computed. */
  readonly dropsMetadata?: true;
  create(object: T, context: ReviewContext): Promise<ReviewAnswer>;
}

export interface ReviewContext extends HookContext {
  /** For a create subresource: the name in the path. Otherwise empty. */
  readonly name: string;
  /** The caller, for an answer that writes. */
  readonly caller: Caller;
}

export interface ReviewAnswer {
  /** An object of the kind of the request, or a Status. */
  readonly object: ApiObject | Status;
  readonly warnings?: readonly string[];
}

/** Makes the definition of a review, with the plural: its kind in lower case, with an s. */
export const defineReview = <T extends ApiObject>(
  definition: Omit<ReviewDefinition<T>, "plural">,
): ReviewDefinition<T> => ({ ...definition, plural: `${definition.kind.toLowerCase()}s` });
