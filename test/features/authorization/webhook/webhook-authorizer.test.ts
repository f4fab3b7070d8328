import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { matchCondition } from "../../../../src/features/authorization/webhook/match-conditions.ts";
import { webhookAuthorizer } from "../../../../src/features/authorization/webhook/webhook-authorizer.ts";
import type { WebhookAuthorizerOptions } from "../../../../src/features/authorization/webhook/webhook-authorizer.ts";
import { ApiError } from "../../../../src/machinery/api/api-error.ts";
import type { AuthorizationAttributes } from "../../../../src/machinery/api/attributes.ts";
import { jsonFields } from "../../../../src/machinery/api/json/json-object.ts";
import { answeredJson } from "../../../../src/machinery/client/webhooks/answered-json.ts";
import { UnusableAnswer } from "../../../../src/machinery/client/webhooks/post-json.ts";
import { createAuthorization } from "../../../../src/machinery/authorization/authorizer.ts";
import type { Authorizer } from "../../../../src/machinery/authorization/authorizer.ts";
import { TestClock } from "../../accounts/tokens/token-scene.ts";

const asks = (name = ""): AuthorizationAttributes => ({
  kind: "resource",
  user: { username: "ada", uid: "7", groups: ["dev"], extra: { team: ["x"] } },
  verb: "list",
  group: "",
  version: "v1",
  resource: "secrets",
  subresource: "",
  namespace: "default",
  name,
  fieldSelector: [{ field: "metadata.name", operator: "=", value: "a" }],
  labelSelector: [{ key: "app", operator: "in", values: ["b", "c"] }],
});
const answers = (status: unknown) => async () => ({ kind: "SubjectAccessReview", status }) as Record<string, unknown>;
const unanswered = 'authorizer "hook": the webhook did not answer';

describe("a webhook authorizer", () => {
  let clock: TestClock;
  let reviews: unknown[];
  let heard: string[];
  let post: WebhookAuthorizerOptions["post"];
  beforeEach(() => {
    clock = new TestClock();
    reviews = [];
    heard = [];
    post = answers({ allowed: true, reason: "because" });
  });
  const authorizer = (changes: Partial<WebhookAuthorizerOptions["settings"]> = {}): Authorizer =>
    webhookAuthorizer({
      name: "hook",
      settings: {
        version: "v1",
        authorizedMilliseconds: 300_000,
        unauthorizedMilliseconds: 30_000,
        onFailure: "noOpinion",
        condition: undefined,
        ...changes,
      },
      post: (review) => (reviews.push(review), post(review)),
      clock,
      maximumPending: 8,
      observer: {
        onEvaluated: ({ result }) => heard.push(result),
        onFailedOpen: () => heard.push("failed open"),
        onExcluded: () => heard.push("excluded"),
        onConditionError: () => heard.push("condition error"),
      },
      onFailure: () => {},
      onChange: ({ isAvailable }) => heard.push(isAvailable ? "back" : "away"),
    });

  it("gets a SubjectAccessReview, with selectors", async () => {
    assert.deepEqual(await authorizer()(asks()), { decision: "allow", reason: "because" });
    assert.deepEqual(reviews, [
      {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        spec: {
          user: "ada",
          uid: "7",
          groups: ["dev"],
          extra: { team: ["x"] },
          resourceAttributes: {
            namespace: "default",
            verb: "list",
            version: "v1",
            resource: "secrets",
            fieldSelector: { requirements: [{ key: "metadata.name", operator: "In", values: ["a"] }] },
            labelSelector: { requirements: [{ key: "app", operator: "In", values: ["b", "c"] }] },
          },
        },
      },
    ]);
    await authorizer({ version: "v1beta1" })({ kind: "path", user: asks().user, verb: "get", path: "/metrics" });
    assert.deepEqual(reviews[1], {
      apiVersion: "authorization.k8s.io/v1beta1",
      kind: "SubjectAccessReview",
      spec: {
        user: "ada",
        uid: "7",
        group: ["dev"],
        extra: { team: ["x"] },
        nonResourceAttributes: { path: "/metrics", verb: "get" },
      },
    });
  });

  it("gets every term of a selector that a review can say: a wider question where it cannot", async () => {
    await authorizer()({
      ...asks(),
      fieldSelector: [{ field: "type", operator: "!=", value: "a" }],
      labelSelector: [
        { key: "app", operator: "exists", values: [] },
        { key: "size", operator: ">", values: ["1"] },
        { key: "old", operator: "!=", values: ["yes"] },
      ],
    } as AuthorizationAttributes);
    const [{ spec }] = reviews as [{ readonly spec: { readonly resourceAttributes: Record<string, unknown> } }];
    assert.deepEqual(spec.resourceAttributes["fieldSelector"], {
      requirements: [{ key: "type", operator: "NotIn", values: ["a"] }],
    });
    assert.deepEqual(spec.resourceAttributes["labelSelector"], {
      requirements: [
        { key: "app", operator: "Exists" },
        { key: "old", operator: "NotIn", values: ["yes"] },
      ],
    });
    await authorizer()({
      ...asks("wider"),
      labelSelector: [{ key: "size", operator: ">", values: ["1"] }],
    } as AuthorizationAttributes);
    assert.ok(!JSON.stringify(reviews[1]).includes("labelSelector"));
  });

  it("denies only explicitly; without an opinion, the next authorizer is asked", async () => {
    const decisionFor = async (status: unknown): Promise<unknown> => {
      post = answers(status);
      return authorizer()(asks());
    };
    assert.deepEqual(await decisionFor({ allowed: false, reason: "no" }), { decision: "noOpinion", reason: "no" });
    assert.deepEqual(await decisionFor({ allowed: false, reason: "a\ud800" }), {
      decision: "noOpinion",
      reason: "a\ufffd",
    });
    assert.deepEqual(await decisionFor({ allowed: false, denied: true }), { decision: "deny", reason: "" });
    assert.deepEqual(await decisionFor({ denied: true }), { decision: "deny", reason: "" });
    assert.deepEqual(await decisionFor({ allowed: null, denied: true }), { decision: "deny", reason: "" });
    assert.deepEqual(await decisionFor({ allowed: true, denied: true }), {
      decision: "deny",
      reason: "",
      evaluationError: "webhook subject access review returned both allow and deny response",
    });
    for (const status of [undefined, {}, { allowed: "true" }, []]) {
      assert.deepEqual(await decisionFor(status), { decision: "noOpinion", reason: "", evaluationError: unanswered });
    }
  });

  it("is not asked again while its answer is cached", async () => {
    const authorize = authorizer();
    await Promise.all([authorize(asks()), authorize(asks())]);
    clock.passSeconds(299);
    assert.ok(!(authorize(asks()) instanceof Promise), "what is known is not awaited");
    assert.equal(reviews.length, 1);
    clock.passSeconds(1);
    post = answers({ allowed: false });
    await authorize(asks());
    clock.passSeconds(29);
    await authorize(asks());
    assert.equal(reviews.length, 2);
    clock.passSeconds(1);
    await authorize(asks());
    assert.equal(reviews.length, 3);
    const uncached = authorizer({ unauthorizedMilliseconds: 0 });
    await uncached(asks());
    await uncached(asks());
    assert.equal(reviews.length, 5);
  });

  it("keeps cached permissions, however many requests it refuses", async () => {
    const authorize = authorizer();
    await authorize(asks("good"));
    post = answers({ allowed: false });
    for (let index = 0; index < 9000; index += 1) await authorize(asks(`bad-${index}`));
    const before = reviews.length;
    await authorize(asks("good"));
    assert.equal(reviews.length, before);
  });

  it("lets the next authorizer decide or denies when it fails, as configured", async () => {
    post = () => Promise.reject(new Error("connect ECONNREFUSED"));
    assert.deepEqual(await authorizer()(asks()), { decision: "noOpinion", reason: "", evaluationError: unanswered });
    assert.deepEqual(heard, ["error", "failed open"]);
    const denies = await authorizer({ onFailure: "deny" })(asks());
    assert.deepEqual(denies, { decision: "deny", reason: "", evaluationError: unanswered });
  });

  it("delays no request for long while it fails or hangs", async () => {
    const failing = authorizer();
    post = () => Promise.reject(new DOMException("too late", "TimeoutError"));
    for (let index = 0; index < 20; index += 1)
      await failing({ ...asks(`${index}`), askedBy: { ...asks().user, username: `user-${index}` } });
    assert.equal(reviews.length, 5);
    assert.ok(!(failing(asks("late")) instanceof Promise));
    assert.deepEqual(heard.slice(0, 2), ["timeout", "failed open"]);
    post = answers({ allowed: true });
    clock.passSeconds(10);
    assert.equal((await failing(asks("again"))).decision, "allow");
    assert.ok(heard.includes("away") && heard.includes("back"));
  });

  it("denies what it denies, however often the user makes it hang before", async () => {
    for (const [onFailure, asked] of [
      ["noOpinion", 21],
      ["deny", 5],
    ] as const) {
      reviews = [];
      const hook = authorizer({ onFailure });
      post = () => Promise.reject(new DOMException("too late", "TimeoutError"));
      for (let index = 0; index < 20; index += 1) await hook(asks(`${index}`));
      post = answers({ allowed: false, denied: true });
      assert.equal((await hook(asks("another"))).decision, "deny");
      assert.equal(reviews.length, asked);
    }
  });

  it("refuses a request when too many wait for its answer, whatever a failure means", async () => {
    post = () => new Promise(() => {});
    for (const onFailure of ["noOpinion", "deny"] as const) {
      const asked = authorizer({ onFailure });
      const askedBy = async (username: string, name: string): Promise<unknown> =>
        asked({ ...asks(name), user: { ...asks().user, username } });
      const isTooMany = (error: unknown): boolean => error instanceof ApiError && error.code === 429;
      for (let index = 0; index < 6; index += 1) void askedBy("ada", `${index}`);
      await assert.rejects(askedBy("ada", "one more than three quarters of them"), isTooMany);
      void askedBy("bob", "6");
      await assert.rejects(askedBy("bob", "one more than three quarters of those that ada leaves"), isTooMany);
      void askedBy("eve", "7");
      await assert.rejects(askedBy("dan", "one more than all"), isTooMany);
    }
    assert.deepEqual(heard, []);
  });

  it("counts what is asked about another user's request as the doing of who asks", async () => {
    const authorize = authorizer();
    const ada = { ...asks().user, username: "ada" };
    const reviewed = async (name: string): Promise<unknown> =>
      authorize({ ...asks(name), user: { ...asks().user, username: `made-up-${name}` }, askedBy: ada });
    post = () => Promise.reject(new DOMException("too late", "TimeoutError"));
    for (let index = 0; index < 20; index += 1) await reviewed(`${index}`);
    post = answers({ allowed: true });
    const bob = { ...asks(), user: { ...asks().user, username: "bob" } };
    assert.equal((await authorize(bob)).decision, "allow");
    post = () => new Promise(() => {});
    for (let index = 0; index < 6; index += 1) void reviewed(`waits-${index}`);
    await assert.rejects(reviewed("one more than three quarters"), ApiError);
  });

  it("allows nothing by an answer whose values have the wrong types", async () => {
    for (const status of [{ allowed: "true" }, { allowed: true, denied: "true" }, { allowed: true, denied: 1 }, {}]) {
      post = answers(status);
      const { decision, evaluationError } = await authorizer({ onFailure: "deny" })(asks());
      assert.deepEqual([decision, evaluationError], ["deny", unanswered], JSON.stringify(status));
    }
  });

  it("takes null for the value that the same member had before, as Go does: it takes back no refusal", async () => {
    const kind = '"kind":"SubjectAccessReview"';
    const refusal = '"status":{"allowed":false,"denied":true}';
    for (const [answer, wanted] of [
      [`${kind},"status":{"allowed":false,"denied":true,"denied":null}`, "deny"],
      [`${kind},${refusal},"status":null`, "deny"],
      [`${kind},${refusal},"status":{"denied":null}`, "deny"],
      [`${kind},"kind":null,${refusal}`, "deny"],
      [`${kind},"status":{"allowed":false,"denied":true,"denied":false}`, "noOpinion"],
      [`${kind},"status":{"allowed":false,"allowed":null}`, "noOpinion"],
    ] as const) {
      post = async () => jsonFields(answeredJson(`{${answer}}`));
      assert.equal((await authorizer()(asks())).decision, wanted, answer);
    }
  });

  it("allows nothing by an answer that is no SubjectAccessReview", async () => {
    for (const kind of ["TokenReview", "subjectaccessreview", undefined]) {
      post = async () => ({ kind, status: { allowed: true } });
      const { decision, evaluationError } = await authorizer({ onFailure: "deny" })(asks());
      assert.deepEqual([decision, evaluationError], ["deny", unanswered], String(kind));
    }
  });

  it("is asked about other requests, however many of its answers could not be used", async () => {
    const authorize = authorizer();
    post = () => Promise.reject(new UnusableAnswer("it answered 400"));
    for (let index = 0; index < 20; index += 1) {
      assert.equal((await authorize(asks(`weird-${index}`))).evaluationError, unanswered);
    }
    post = answers({ allowed: false, denied: true });
    assert.equal((await authorize(asks())).decision, "deny");
    assert.ok(!heard.includes("away"));
  });

  it("gets only requests that meet all conditions", async () => {
    const condition = matchCondition([
      "has(request.resourceAttributes)",
      "request.resourceAttributes.namespace == 'default' && request.resourceAttributes.subresource == ''",
      "!('system:nodes' in request.groups) && request.extra.exists(key, values, key == 'team' && values.sort()[0] == 'x')",
      "request.resourceAttributes.labelSelector.requirements[0].key == 'app'",
    ]);
    const authorize = authorizer({ condition });
    assert.equal((await authorize(asks())).decision, "allow");
    const elsewhere = await authorize({ ...asks(), namespace: "other" } as AuthorizationAttributes);
    assert.deepEqual(elsewhere, { decision: "noOpinion", reason: "" });
    const path = await authorize({ kind: "path", user: asks().user, verb: "get", path: "/" });
    assert.deepEqual(
      path,
      { decision: "noOpinion", reason: "" },
      "one condition is false: the errors of others do not count",
    );
    assert.equal(reviews.length, 1);
    const broken = matchCondition(["request.extra['missing'][0] == 'x'"]);
    const fault = 'authorizer "hook": a match condition could not be evaluated';
    assert.deepEqual(await authorizer({ onFailure: "deny", condition: broken })(asks()), {
      decision: "deny",
      reason: "",
      evaluationError: fault,
    });
    assert.deepEqual(heard, ["success", "excluded", "excluded", "condition error"]);
  });

  it("is not asked by a condition that is neither true nor false: that is an error", async () => {
    const condition = matchCondition(["request.resourceAttributes.labelSelector.requirements[0].key"]);
    const { decision, evaluationError } = await authorizer({ onFailure: "deny", condition })(asks());
    assert.equal(decision, "deny");
    assert.equal(evaluationError, 'authorizer "hook": a match condition could not be evaluated');
    assert.deepEqual(reviews, []);
  });

  it("can tell requests for paths from those for resources in its conditions", async () => {
    const path: AuthorizationAttributes = { kind: "path", user: asks().user, verb: "get", path: "/metrics" };
    for (const [expression, asked] of [
      ["has(request.resourceAttributes)", asks()],
      ["!has(request.nonResourceAttributes)", asks()],
      ["has(request.nonResourceAttributes) && request.nonResourceAttributes.path == '/metrics'", path],
      ["!has(request.resourceAttributes)", path],
    ] as const) {
      const authorize = authorizer({ condition: matchCondition([expression]) });
      assert.equal((await authorize(asked)).decision, "allow", expression);
      assert.equal((await authorize(asked === path ? asks() : path)).decision, "noOpinion", expression);
    }
  });
});

describe("match conditions that take too many steps for a request", () => {
  const user = { user: "ada", uid: "", groups: [], extra: {} };
  const requirements = Array.from({ length: 20_000 }, (_, index) => ({
    key: `k${index}`,
    operator: "Exists" as const,
  }));
  const labelled = { ...user, resourceAttributes: { labelSelector: { requirements } } };
  const heavy = "request.resourceAttributes.labelSelector.requirements.all(r, r.key != 'x')";

  it("do not keep the webhook from being asked", () => {
    assert.equal(matchCondition([heavy])(labelled), "matches");
    const failsFirst = "request.resourceAttributes.labelSelector.requirements.exists(r, r.values[0] == 'x')";
    assert.equal(matchCondition([failsFirst])(labelled), "matches");
  });

  it("count less than a condition before them that is false or fails", () => {
    assert.equal(matchCondition(["request.user == 'bob'", heavy])(labelled), "excluded");
    assert.equal(matchCondition(["request.extra['x'][0] == 'y'", heavy])(labelled), "error");
  });
});

describe("a chain of authorizers that fail", () => {
  const says =
    (decision: "allow" | "noOpinion", evaluationError?: string): Authorizer =>
    () => ({
      decision,
      reason: "",
      ...(evaluationError !== undefined && { evaluationError }),
    });
  it("asks the next authorizer, and reports all errors when none allows the request", async () => {
    const chain = [says("noOpinion", "one"), says("noOpinion", "two"), says("noOpinion", "one")];
    assert.deepEqual(await createAuthorization(() => chain)(asks()), {
      decision: "noOpinion",
      reason: "",
      evaluationError: "[one, two]",
    });
    assert.deepEqual(await createAuthorization(() => [...chain, says("allow")])(asks()), {
      decision: "allow",
      reason: "",
    });
  });
});
