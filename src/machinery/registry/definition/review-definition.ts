import type { ApiObject } from "../../api/object-meta.ts";
import type { GroupVersion, ResourceType } from "../../api/resource-type.ts";
import type { Status } from "../../api/status.ts";
import type { ObjectSchema } from "../../schema/schema.ts";
import type { Caller } from "../caller.ts";
import type { HookContext } from "./resource-definition.ts";

/** Answers the creation of an object that is never stored. */
export interface AnswerCreate {
  /**
   * Fills in what the server decides, before validating admission: a rule must see what will be answered. Throws what is wrong with the
   * object as an ApiError. Default: it stays as it is.
   */
  prepareForCreate?(object: ApiObject, context: Omit<ReviewContext, "isDryRun">): ApiObject;
  create(object: ApiObject, context: ReviewContext): Promise<ReviewAnswer>;
}

/** A kind that is answered and never stored: the reviews. */
export interface ReviewDefinition<T extends ApiObject = ApiObject> extends ResourceType<T> {
  /** The group and version that admission knows it by, where this definition serves it under another. */
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
  /** For an answer that writes. */
  readonly caller: Caller;
}

export interface ReviewAnswer {
  /** An object of the kind of the request, or a Status. */
  readonly object: ApiObject | Status;
  readonly warnings?: readonly string[];
}

/** The definition of a review, whose plural is its kind in lower case, with an s. */
export const defineReview = <T extends ApiObject>(
  definition: Omit<ReviewDefinition<T>, "plural">,
): ReviewDefinition<T> => ({ ...definition, plural: `${definition.kind.toLowerCase()}s` });
