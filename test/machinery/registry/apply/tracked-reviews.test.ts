import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import type { ApiObject } from "../../../../src/machinery/api/object-meta.ts";
import { TrackedReviews } from "../../../../src/machinery/registry/apply/tracked-reviews.ts";
import { runToEnd } from "../../../../src/machinery/api/run-to-end.ts";
import { trackUpdate } from "../../../../src/machinery/registry/apply/track-update.ts";
import { subjectAccessReviews } from "../../../../src/features/access/reviews/subject-access-reviews.ts";
import { tokenRequestSchema } from "../../../../src/features/accounts/token-request-schema.ts";
import { CompiledSchema } from "../../../../src/machinery/registry/definition/compiled-schema.ts";

const authorize = () => ({ decision: "allow" as const, reason: "" });
const { schema } = subjectAccessReviews(platformNames, { authorize });
const compiled = new CompiledSchema(schema);

const text = fc.constantFrom("", "a", "b");
const review = fc.record(
  {
    metadata: fc.record(
      {
        name: text,
        labels: fc.dictionary(fc.constantFrom("x", "y/z"), text),
        finalizers: fc.array(fc.constantFrom("example.com/a", "example.com/b"), { maxLength: 2 }),
      },
      { requiredKeys: [] },
    ),
    spec: fc.record(
      {
        user: text,
        uid: text,
        groups: fc.array(text, { maxLength: 2 }),
        extra: fc.dictionary(fc.constantFrom("scopes", "{"), fc.array(text, { maxLength: 2 })),
        resourceAttributes: fc.record({ namespace: text, verb: text, name: text }, { requiredKeys: [] }),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
);

test("a review's cached managedFields equal those that are computed without the cache", () => {
  const reviews = new TrackedReviews();
  const write = { compiled, apiVersion: "v1", subresource: "", now: 0 };
  fc.assert(
    fc.property(review, fc.constantFrom("one", "two"), (body, manager) => {
      const object = compiled.decode({ ...body, apiVersion: "v1", kind: "SubjectAccessReview" }).value;
      assert.deepEqual(
        reviews.track({ ...write, manager }, object),
        runToEnd(trackUpdate({ ...write, manager, previous: undefined, next: object })),
      );
    }),
    { numRuns: 2000 },
  );
});

test("a token request owns its audiences when they are an empty list, and not when they are missing", () => {
  const reviews = new TrackedReviews();
  const write = {
    compiled: new CompiledSchema(tokenRequestSchema),
    manager: "m",
  };
  const tracked = [{ audiences: ["a"] }, { audiences: [] }, {}, { audiences: [] }].map((spec) => {
    const { value } = write.compiled.decode({ apiVersion: "v1", kind: "TokenRequest", spec });
    const all = { ...write, apiVersion: "v1", subresource: "token", now: 0 };
    assert.deepEqual(reviews.track(all, value), runToEnd(trackUpdate({ ...all, previous: undefined, next: value })));
    return JSON.stringify(reviews.track(all, value)).includes("f:audiences");
  });
  assert.deepEqual(tracked, [true, true, false, true]);
});

test("the time of a review's managedFields entry is that of its own request", () => {
  const object: ApiObject = { apiVersion: "v1", kind: "SubjectAccessReview", metadata: { labels: { a: "b" } } };
  const reviews = new TrackedReviews();
  const times = [1000, 5000].map(
    (now) =>
      reviews.track({ compiled, apiVersion: "v1", subresource: "", manager: "m", now }, object).metadata
        .managedFields?.[0]?.time,
  );
  assert.deepEqual(times, ["1970-01-01T00:00:01Z", "1970-01-01T00:00:05Z"]);
});
