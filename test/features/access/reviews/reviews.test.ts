import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AuthorizationAttributes, Decision } from "../../../../src/machinery/api/attributes.ts";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import {
  localSubjectAccessReviews,
  selfSubjectAccessReviews,
  subjectAccessReviews,
} from "../../../../src/features/access/reviews/subject-access-reviews.ts";
import { selfSubjectReviews } from "../../../../src/features/access/reviews/self-subject-reviews.ts";
import { selfSubjectRulesReviews } from "../../../../src/features/access/reviews/self-subject-rules-reviews.ts";
import type { ResolvedRules } from "../../../../src/features/access/rbac/rule-resolver.ts";
import { tokenReviews } from "../../../../src/features/accounts/token-reviews.ts";
import { answer } from "../../review-scene.ts";

describe("a token review", () => {
  const user = { username: "bob", uid: "u", groups: ["g"], extra: { k: ["v"] } };
  const asked: unknown[] = [];
  const review = tokenReviews(platformNames, {
    reviewToken: (token, { audiences, asker }) => {
      asked.push([token, audiences, asker()]);
      return token === "good"
        ? { isAuthenticated: true, user, audiences }
        : { isAuthenticated: false, error: "invalid bearer token" };
    },
  });

  it("returns the user and the audiences of a valid token", async () => {
    assert.deepEqual(await answer(review, { spec: { token: "good", audiences: ["a"] } }), {
      metadata: {},
      spec: { token: "good", audiences: ["a"] },
      status: { authenticated: true, audiences: ["a"], user },
    });
    assert.deepEqual(asked.at(-1), ["good", ["a"], ["others", "others/alice"]]);
  });

  it("returns why a token is not valid, and ignores a status in the request", async () => {
    const body = { spec: { token: "bad" }, status: { authenticated: true, user: { username: "root" } } };
    assert.deepEqual((await answer(review, body))["status"], { user: {}, error: "invalid bearer token" });
  });

  it("without a token is a 400", async () => {
    for (const body of [{}, { spec: null }, { spec: {} }, { spec: { token: "" } }, { spec: { audiences: ["a"] } }]) {
      await assert.rejects(answer(review, body), {
        code: 400,
        message: "token is required for TokenReview in authentication",
      });
    }
  });
});

it("a self subject review returns the caller, and ignores the rest of the request", async () => {
  const body = { metadata: { name: "x", labels: { a: "b" } }, status: { userInfo: { username: "root" } } };
  const user = { username: "alice", groups: ["system:authenticated"], extra: {} };
  assert.deepEqual(await answer(selfSubjectReviews(platformNames), body, { user }), {
    metadata: { creationTimestamp: "2026-01-01T00:00:00Z" },
    status: { userInfo: { username: "alice", groups: ["system:authenticated"] } },
  });
});

const resourceAttributes = { verb: "list", resource: "pods", namespace: "ns" };
const nonResourceAttributes = { path: "/version", verb: "get" };
const refused = (field: string, message: string) => ({
  code: 422,
  message: `.authorization.platform.io "" is invalid: ${field}: ${message}`,
});

/** The three access reviews with one authorizer. `asked` records its inputs. */
function accessReviews(decision: Decision = { decision: "noOpinion", reason: "" }) {
  const asked: AuthorizationAttributes[] = [];
  const options = {
    authorize: (attributes: AuthorizationAttributes) => {
      asked.push(attributes);
      return decision;
    },
  };
  return {
    asked,
    self: selfSubjectAccessReviews(platformNames, options),
    subject: subjectAccessReviews(platformNames, options),
    local: localSubjectAccessReviews(platformNames, options),
  };
}

describe("an access review", () => {
  it("echoes the spec and returns whether it is allowed", async () => {
    const yes = accessReviews({ decision: "allow", reason: "RBAC: so" });
    assert.deepEqual(await answer(yes.self, { spec: { resourceAttributes } }), {
      metadata: {},
      spec: { resourceAttributes },
      status: { allowed: true, reason: "RBAC: so" },
    });
    const status = async (decision: Decision) =>
      (await answer(accessReviews(decision).self, { spec: { nonResourceAttributes } }))["status"];
    assert.deepEqual(await status({ decision: "noOpinion", reason: "" }), { allowed: false });
    assert.deepEqual(await status({ decision: "deny", reason: "no" }), { allowed: false, denied: true, reason: "no" });
  });

  it("checks the caller, or exactly the named user", async () => {
    const test = accessReviews();
    await answer(test.self, { spec: { resourceAttributes } });
    assert.equal(test.asked[0]?.user.username, "alice");
    const user = "system:serviceaccount:ns:bob";
    await answer(test.subject, { spec: { user, uid: "u", extra: { K: ["v"] }, nonResourceAttributes } });
    assert.deepEqual(test.asked[1], {
      kind: "path",
      verb: "get",
      path: "/version",
      user: { username: user, uid: "u", groups: [], extra: { K: ["v"] } },
      askedBy: { username: "alice", groups: ["system:authenticated"], extra: {} },
    });
  });

  it("checks exactly one request", async () => {
    const { self } = accessReviews();
    const none = "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified";
    for (const body of [{}, { spec: {} }]) {
      await assert.rejects(answer(self, body), refused("spec.resourceAttributes", none));
    }
    const both =
      'Invalid value: {"Path":"/version","Verb":"get"}: cannot be specified in combination with resourceAttributes';
    await assert.rejects(
      answer(self, { spec: { resourceAttributes, nonResourceAttributes } }),
      refused("spec.nonResourceAttributes", both),
    );
  });

  it("of another user must name a user or a group", async () => {
    const { subject } = accessReviews();
    await answer(subject, { spec: { groups: ["g"], resourceAttributes } });
    await assert.rejects(
      answer(subject, { spec: { user: "", groups: [], resourceAttributes } }),
      refused("spec.user", 'Invalid value: "": at least one of user or group must be specified'),
    );
  });

  it("has no metadata but managedFields", async () => {
    const { self } = accessReviews();
    for (const metadata of [{ name: "x" }, { labels: { a: "b" } }]) {
      await assert.rejects(answer(self, { metadata, spec: { resourceAttributes } }), { code: 422 });
    }
    await answer(self, { metadata: { managedFields: [] }, spec: { resourceAttributes } });
  });

  it("checks its selectors, and ignores unknown operators with a message", async () => {
    const test = accessReviews();
    const ask = (selectors: object) =>
      answer(test.self, { spec: { resourceAttributes: { ...resourceAttributes, ...selectors } } });
    const field = "spec.resourceAttributes.fieldSelector";
    await assert.rejects(
      ask({ fieldSelector: { rawSelector: "a=b", requirements: [{ key: "a", operator: "Exists" }] } }),
      refused(`${field}.rawSelector`, 'Invalid value: "a=b": may not specified at the same time as requirements'),
    );
    await assert.rejects(
      ask({ fieldSelector: {} }),
      refused(
        `${field}.requirements`,
        `Required value: when ${field} is specified, requirements or rawSelector is required`,
      ),
    );
    await assert.rejects(
      ask({ labelSelector: { requirements: [{ key: "a", operator: "In" }] } }),
      refused(
        "spec.resourceAttributes.labelSelector.requirements[0].values",
        "Required value: must be specified when `operator` is 'In' or 'NotIn'",
      ),
    );
    const near = { labelSelector: { requirements: [{ key: "a", operator: "Near", values: ["b"] }] } };
    assert.deepEqual((await ask(near))["status"], {
      allowed: false,
      evaluationError: "spec.resourceAttributes.labelSelector ignored due to parse error",
    });
    for (const value of ["n1", "x,spec.nodeName=n1"]) {
      await ask({ fieldSelector: { requirements: [{ key: "spec.nodeName", operator: "In", values: [value] }] } });
      const last = test.asked.at(-1);
      assert.deepEqual(last?.kind === "resource" && last.fieldSelector, [
        { field: "spec.nodeName", operator: "=", value },
      ]);
    }
  });

  it("asks authorizers about its selectors, as text and as requirements, and about all objects where it can't", async () => {
    const test = accessReviews();
    const selectorsOf = async (selectors: object) => {
      const body = { spec: { resourceAttributes: { ...resourceAttributes, ...selectors } } };
      const { evaluationError } = (await answer(test.self, body))["status"] as { readonly evaluationError?: string };
      const last = test.asked.at(-1);
      assert.ok(last?.kind === "resource");
      return [last.fieldSelector, last.labelSelector, evaluationError];
    };
    const ignored = (kind: string, how = "ignored") => `spec.resourceAttributes.${kind} ${how} due to parse error`;
    const ofNode = { field: "spec.nodeName", operator: "=", value: "n1" };
    const onNode = { key: "spec.nodeName", operator: "In", values: ["n1"] };
    const ofApp = { key: "app", operator: "in", values: ["a", "b"] };
    assert.deepEqual(
      await selectorsOf({
        fieldSelector: { rawSelector: "spec.nodeName=n1" },
        labelSelector: { rawSelector: "app in (a,b)" },
      }),
      [[ofNode], [ofApp], undefined],
    );
    const labels = [
      { key: "app", operator: "In", values: ["a", "b"] },
      { key: "old", operator: "DoesNotExist" },
    ];
    assert.deepEqual(
      await selectorsOf({ fieldSelector: { requirements: [onNode] }, labelSelector: { requirements: labels } }),
      [[ofNode], [ofApp, { key: "old", operator: "doesNotExist", values: [] }], undefined],
    );
    for (const one of [
      { ...onNode, operator: "Near" },
      { key: "a", operator: "Exists" },
      { ...onNode, values: ["n1", "n2"] },
    ]) {
      assert.deepEqual(
        await selectorsOf({ fieldSelector: { requirements: [one] } }),
        [undefined, undefined, ignored("fieldSelector")],
        one.operator,
      );
      assert.deepEqual(await selectorsOf({ fieldSelector: { requirements: [onNode, one] } }), [
        [ofNode],
        undefined,
        ignored("fieldSelector", "partially ignored"),
      ]);
    }
    assert.deepEqual(
      await selectorsOf({
        fieldSelector: { rawSelector: "spec.nodeName" },
        labelSelector: { rawSelector: "app in (" },
      }),
      [undefined, undefined, `${ignored("fieldSelector")}; ${ignored("labelSelector")}`],
    );
  });

  it("of every kind checks the requirements of its selectors", async () => {
    const { self, subject, local } = accessReviews();
    const at = "spec.resourceAttributes";
    const values = "Required value: must be specified when `operator` is 'In' or 'NotIn'";
    const noValues = "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
    for (const [kind, requirement, fault] of [
      ["fieldSelector", { key: "", operator: "In", values: ["a"] }, "key: Required value: must be specified"],
      ["fieldSelector", { key: "a", operator: "In" }, `values: ${values}`],
      ["labelSelector", { key: "a", operator: "NotIn" }, `values: ${values}`],
      ["labelSelector", { key: "a", operator: "Exists", values: ["b"] }, `values: ${noValues}`],
      ["labelSelector", { key: "a", operator: "DoesNotExist", values: ["b"] }, `values: ${noValues}`],
      ["labelSelector", { key: "a b", operator: "In", values: ["c"] }, 'key: Invalid value: "a b": '],
      ["labelSelector", { key: "a", operator: "In", values: ["b c"] }, 'values[0]: Invalid value: "b c": '],
    ] as const) {
      const spec = { resourceAttributes: { ...resourceAttributes, [kind]: { requirements: [requirement] } } };
      const isFault = ({ message }: Error) =>
        message.includes(`${at}.${kind}.requirements[0].${fault}`) || assert.fail(message);
      await assert.rejects(answer(self, { spec }), isFault);
      await assert.rejects(answer(subject, { spec: { user: "bob", ...spec } }), isFault);
      await assert.rejects(answer(local, { spec: { user: "bob", ...spec } }, { namespace: "ns" }), isFault);
    }
  });

  it("of any user names one request, some user, and nothing in its metadata", async () => {
    const { subject, local } = accessReviews();
    for (const spec of [{ user: "bob" }, { resourceAttributes }]) {
      await assert.rejects(answer(subject, { spec }), { code: 422 });
      await assert.rejects(answer(local, { spec }, { namespace: "ns" }), { code: 422 });
    }
    const metadata = { name: "x" };
    await assert.rejects(answer(subject, { metadata, spec: { user: "bob", resourceAttributes } }), { code: 422 });
  });

  it("reports what authorizers could not evaluate", async () => {
    const { self } = accessReviews({ decision: "noOpinion", reason: "", evaluationError: "no answer" });
    const near = { rawSelector: "app in (" };
    const spec = { resourceAttributes: { ...resourceAttributes, labelSelector: near } };
    assert.deepEqual((await answer(self, { spec }))["status"], {
      allowed: false,
      evaluationError: "no answer; spec.resourceAttributes.labelSelector ignored due to parse error",
    });
  });

  it("of one namespace may not ask about another", async () => {
    const { local } = accessReviews();
    const ask = (spec: object, metadata: object = { namespace: "ns" }) =>
      answer(local, { metadata, spec: { user: "alice", ...spec } }, { namespace: "ns" });
    await ask({ resourceAttributes });
    await ask({ resourceAttributes }, {});
    await assert.rejects(
      ask({ resourceAttributes: { ...resourceAttributes, namespace: "other" } }),
      refused("spec.resourceAttributes.namespace", 'Invalid value: "other": must match metadata.namespace'),
    );
    await assert.rejects(
      ask({ nonResourceAttributes }),
      refused(
        "spec.nonResourceAttributes",
        'Invalid value: {"Path":"/version","Verb":"get"}: disallowed on this kind of request',
      ),
    );
    await assert.rejects(ask({ resourceAttributes }, { namespace: "ns", name: "x" }), { code: 422 });
  });
});

describe("a rules review", () => {
  const reviewOf = (known: Partial<ResolvedRules>) =>
    selfSubjectRulesReviews(platformNames, {
      spellObjectName: (_names, name) => name,
      rulesFor: () => Promise.resolve({ rules: [], isIncomplete: false, errors: [], ...known }),
    });
  const review = reviewOf({
    rules: [
      { verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: ["a"] },
      { verbs: ["get"], nonResourceURLs: ["/healthz"] },
    ],
    errors: ['role "x" not found'],
  });

  it("lists rules for resources and paths, with the error of a missing role", async () => {
    assert.deepEqual(await answer(review, { spec: { namespace: "ns" } }), {
      metadata: {},
      spec: {},
      status: {
        resourceRules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: ["a"] }],
        nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/healthz"] }],
        incomplete: false,
        evaluationError: 'role "x" not found',
      },
    });
  });

  it("is incomplete where an authorizer lists no rules, and has every error once", async () => {
    const { status } = await answer(reviewOf({ isIncomplete: true, errors: ["a", "b", "a"] }), {
      spec: { namespace: "ns" },
    });
    assert.deepEqual(status, {
      resourceRules: [],
      nonResourceRules: [],
      incomplete: true,
      evaluationError: "[a, b]",
    });
  });

  it("without a namespace is a 400", async () => {
    for (const body of [{}, { spec: { namespace: "" } }]) {
      await assert.rejects(answer(review, body), { code: 400, message: "no namespace on request" });
    }
  });
});
