import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AuthorizationAttributes } from "../../../src/machinery/api/attributes.ts";
import type { PolicyRule } from "../../../src/features/access/rbac/policy-rule.ts";
import { alwaysAllow, createAuthorization } from "../../../src/machinery/authorization/authorizer.ts";
import { alice, asks, asksPath, readPods, TestRbac, toGroup, toUser, user } from "./rbac-scene.ts";

const toAlice = toUser("alice");
const allows = (rule: PolicyRule, attributes: AuthorizationAttributes): boolean =>
  new TestRbac().grant([rule], toAlice).authorizer()(attributes).decision === "allow";

describe("a rule", () => {
  const rule = (bent: Partial<PolicyRule>): PolicyRule => ({ ...readPods, ...bent });

  it("allows its verbs, groups and resources, case-sensitively, and no others", () => {
    assert.ok(allows(readPods, asks()));
    for (const other of [
      { verb: "list" },
      { verb: "GET" },
      { group: "apps" },
      { resource: "Pods" },
      { resource: "secrets" },
    ]) {
      assert.ok(!allows(readPods, asks(other)), JSON.stringify(other));
    }
  });

  it("may have wildcards for each of them", () => {
    assert.ok(allows(rule({ verbs: ["*"] }), asks({ verb: "frob" })));
    assert.ok(allows(rule({ apiGroups: ["*"] }), asks({ group: "apps" })));
    assert.ok(allows(rule({ resources: ["*"] }), asks({ resource: "secrets", subresource: "x" })));
  });

  it("does not allow subresources with their resource", () => {
    assert.ok(!allows(readPods, asks({ subresource: "status" })));
    assert.ok(allows(rule({ resources: ["pods/status"] }), asks({ subresource: "status" })));
    assert.ok(!allows(rule({ resources: ["pods/status"] }), asks()));
    assert.ok(allows(rule({ resources: ["*/status"] }), asks({ subresource: "status" })));
    assert.ok(!allows(rule({ resources: ["*/status"] }), asks({ subresource: "log" })));
    assert.ok(!allows(rule({ resources: ["pods/*"] }), asks({ subresource: "status" })), "pods/* is no pattern");
  });

  it("with names allows those only, and a list only where the request names one", () => {
    const named = rule({ verbs: ["get", "list", "watch", "deletecollection", "create"], resourceNames: ["a"] });
    assert.ok(allows(named, asks({ name: "a" })));
    assert.ok(!allows(named, asks({ name: "b" })));
    for (const verb of ["list", "watch", "deletecollection", "create"]) {
      assert.ok(!allows(named, asks({ verb })), verb);
      assert.ok(allows(named, asks({ verb, name: "a" })), verb);
    }
  });

  it("for paths allows them and, with a star, every path with that prefix", () => {
    const paths = (...nonResourceURLs: string[]): PolicyRule => ({ verbs: ["get"], nonResourceURLs });
    assert.ok(allows(paths("/healthz"), asksPath("/healthz")));
    assert.ok(!allows(paths("/healthz"), asksPath("/healthz/x")));
    assert.ok(!allows(paths("/healthz"), asksPath("/healthz", "post")));
    assert.ok(allows(paths("/healthz/*"), asksPath("/healthz/x/y")));
    assert.ok(!allows(paths("/healthz/*"), asksPath("/healthz")));
    assert.ok(allows(paths("*"), asksPath("/any")));
    assert.ok(!allows(paths("*"), asks()), "a path is no resource");
    assert.ok(!allows({ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }, asksPath("/any")));
  });

  it("without verbs or resources allows nothing", () => {
    for (const empty of [{ verbs: null }, { verbs: [] }, { resources: [] }, { apiGroups: [] }]) {
      assert.ok(!allows(rule(empty), asks()));
    }
  });

  it("does not match names of JavaScript's built-in properties", () => {
    for (const word of ["__proto__", "constructor", "toString"]) {
      assert.ok(!allows(readPods, asks({ verb: word, resource: word, group: word, namespace: word, name: word })));
    }
  });
});

describe("a binding", () => {
  it("of a role or a cluster role in a namespace is valid only there", () => {
    const objects = new TestRbac().grantIn("ns", [readPods], toAlice).grant([readPods]);
    objects.bind("other", { kind: "ClusterRole", name: [...objects.clusterRoles.keys()][0] ?? "" }, toAlice);
    const authorize = objects.authorizer();
    assert.equal(authorize(asks()).decision, "allow");
    assert.equal(authorize(asks({ namespace: "other" })).decision, "allow");
    assert.equal(authorize(asks({ namespace: "third" })).decision, "noOpinion");
    assert.equal(authorize(asks({ namespace: "" })).decision, "noOpinion");
  });

  it("of a namespace does not allow paths", () => {
    const objects = new TestRbac().grantIn("", [{ verbs: ["get"], nonResourceURLs: ["*"] }], toAlice);
    assert.equal(objects.authorizer()(asksPath("/x")).decision, "noOpinion");
  });

  it("matches users, groups and accounts only by their own names", () => {
    const by = (...subjects: Parameters<TestRbac["grant"]>[1][]) =>
      new TestRbac().grantIn("ns", [readPods], ...subjects).authorizer();
    const account = user("system:serviceaccount:ns:bob");
    assert.equal(by(toGroup("dev"))(asks()).decision, "allow");
    assert.equal(by(toUser("dev"))(asks()).decision, "noOpinion");
    assert.equal(by(toGroup("alice"))(asks()).decision, "noOpinion");
    assert.equal(by({ kind: "ServiceAccount", name: "bob" })(asks({ user: account })).decision, "allow");
    assert.equal(
      by({ kind: "ServiceAccount", name: "bob", namespace: "x" })(asks({ user: account })).decision,
      "noOpinion",
    );
    assert.equal(by(toUser(account.username))(asks({ user: account })).decision, "allow");
  });

  it("gives its reason for allowing, in upstream's words", () => {
    const reason = (objects: TestRbac): string => objects.authorizer()(asks()).reason;
    assert.equal(
      reason(new TestRbac().grant([readPods], toAlice)),
      'RBAC: allowed by ClusterRoleBinding "c1-binding" of ClusterRole "c1" to User "alice"',
    );
    assert.equal(
      reason(new TestRbac().grantIn("ns", [readPods], toGroup("dev"))),
      'RBAC: allowed by RoleBinding "r1-binding/ns" of Role "r1" to Group "dev"',
    );
  });

  it("of a role that does not exist is reported when the request is not allowed otherwise", () => {
    const objects = new TestRbac().bindCluster("gone", toAlice).bind("ns", { kind: "Role", name: "lost" }, toAlice);
    assert.deepEqual(objects.authorizer()(asks()), {
      decision: "noOpinion",
      reason:
        'RBAC: [clusterrole.rbac.authorization.platform.io "gone" not found, role.rbac.authorization.platform.io "lost" not found]',
    });
    objects.grant([readPods], toAlice);
    assert.equal(objects.authorizer()(asks()).decision, "allow");
  });

  it("takes effect as soon as the generation changes", () => {
    const objects = new TestRbac();
    const authorize = objects.authorizer();
    assert.equal(authorize(asks()).decision, "noOpinion");
    objects.grantIn("ns", [readPods], toAlice);
    assert.equal(authorize(asks()).decision, "allow");
    objects.bindings = [];
    objects.changes++;
    assert.equal(authorize(asks()).decision, "noOpinion");
  });
});

describe("the chain of authorizers", () => {
  const deny = () => ({ decision: "deny", reason: "no" }) as const;
  const silent = (reason: string) => () => ({ decision: "noOpinion", reason }) as const;

  it("allows members of system:masters everything before other authorizers run", async () => {
    assert.equal(
      (await createAuthorization(() => [deny])(asks({ user: user("x", "system:masters") }))).decision,
      "allow",
    );
    assert.equal((await createAuthorization(() => [deny])(asks({ user: user("system:masters") }))).decision, "deny");
  });

  it("ends with the first that allows or denies", async () => {
    assert.equal((await createAuthorization(() => [silent(""), deny, alwaysAllow])(asks())).decision, "deny");
    assert.equal((await createAuthorization(() => [alwaysAllow, deny])(asks())).decision, "allow");
  });

  it("has no opinion when no authorizer has one", async () => {
    assert.deepEqual(await createAuthorization(() => [])(asks({ user: alice })), { decision: "noOpinion", reason: "" });
    assert.equal((await createAuthorization(() => [silent("a"), silent(""), silent("b")])(asks())).reason, "a\nb");
  });
});
