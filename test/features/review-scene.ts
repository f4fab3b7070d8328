import type { ObjectSchema } from "../../src/machinery/schema/schema.ts";
import type { ReviewAnswer, ReviewContext } from "../../src/machinery/registry/definition/review-definition.ts";
import { compileDecoder } from "../../src/machinery/schema/compile-decoder.ts";
import { TestClock } from "./accounts/tokens/token-scene.ts";

const now = new TestClock().now();

export const context = (bent: Partial<ReviewContext> = {}): ReviewContext => ({
  user: { username: "alice", groups: ["system:authenticated"], extra: {} },
  requestedGroup: "",
  namespace: "",
  name: "",
  isDryRun: false,
  caller: {
    user: { username: "alice", groups: ["system:authenticated"], extra: {} },
    isDryRun: false,
    signal: new AbortController().signal,
    warn: () => {},
  },
  now,
  ...bent,
});

interface Review<T> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly schema: ObjectSchema<T>;
  prepareForCreate?(object: T, context: ReviewContext): T;
  create(object: T, context: ReviewContext): Promise<ReviewAnswer>;
}

/** Sends a body like the server would: decoded with the schema, with the group, version and kind of the path. */
export async function send<T>(
  review: Review<T>,
  body: object,
  bent: Partial<ReviewContext> = {},
): Promise<ReviewAnswer> {
  const typed = { apiVersion: `${review.group}/${review.version}`, kind: review.kind, ...body };
  const object = compileDecoder(review.schema)(typed).value;
  const reviewContext = context({ requestedGroup: review.group, ...bent });
  return review.create(review.prepareForCreate?.(object, reviewContext) ?? object, reviewContext);
}

/** The answer as JSON, without apiVersion and kind. */
export async function answer<T>(...args: Parameters<typeof send<T>>): Promise<Record<string, unknown>> {
  const { object } = await send(...args);
  const { apiVersion: _version, kind: _kind, ...rest } = JSON.parse(JSON.stringify(object)) as Record<string, unknown>;
  return rest;
}
