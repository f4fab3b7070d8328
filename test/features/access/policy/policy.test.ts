import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { kubernetesNames, platformNames } from "../../../../src/machinery/api/names.ts";
import type { PolicyRule } from "../../../../src/features/access/rbac/policy-rule.ts";
import type { ClusterRole } from "../../../../src/features/access/rbac/roles.ts";
import { aggregateRules } from "../../../../src/features/access/rbac/cluster-role-aggregation.ts";
import { controllerManagerUsername } from "../../../../src/features/access/policy/controller-policy.ts";
import { bootstrapPolicy } from "../../../../src/features/access/policy/bootstrap-policy.ts";
import { isTurnOver } from "../../../../src/machinery/scheduling/request-turn.ts";
import { createAuthorization } from "../../../../src/machinery/authorization/authorizer.ts";
import { rbac } from "../../../../src/features/access/rbac/rbac-authorizer.ts";
import { reconcileBinding, reconcileRole } from "../../../../src/features/access/policy/reconcile-policy.ts";
import { RuleResolver } from "../../../../src/features/access/rbac/rule-resolver.ts";
import { asks, asksPath, readPods, roleRef, toUser, user } from "../rbac/rbac-scene.ts";
import { wellKnownSignerGrants } from "../../../../src/server/signer-grants.ts";
import { takeTurnForEachLook, turnsDuring } from "../../../turns-during.ts";

const listPods: PolicyRule = { ...readPods, verbs: ["list"] };
const role = (name: string, bent: Partial<ClusterRole> = {}): ClusterRole => ({
  apiVersion: "rbac.authorization.platform.io/v1",
  kind: "ClusterRole",
  metadata: { name },
  rules: [readPods],
  ...bent,
});
const knownRoles = (...all: readonly ClusterRole[]) => ({
  labels: new Map(all.map(({ metadata }) => [metadata.name ?? "", metadata.labels])),
  get: (name: string) => all.find(({ metadata }) => metadata.name === name),
});
const names = platformNames;
const autoupdateOff = { "rbac.authorization.platform.io/autoupdate": "false" };

describe("a default role", () => {
  const wanted = role("r", { metadata: { name: "r", labels: { a: "1" } }, rules: [readPods, listPods] });

  it("that is complete does not change", () => {
    assert.equal(reconcileRole(wanted, { wanted, names }), undefined);
    assert.equal(reconcileRole(role("r", { rules: null }), { wanted: role("r", { rules: [] }), names }), undefined);
  });

  it("gets back what is missing, and keeps additions", () => {
    const added: PolicyRule = { verbs: ["get"], apiGroups: [""], resources: ["secrets"] };
    const existing = role("r", {
      metadata: { name: "r", uid: "u", resourceVersion: "7", labels: { a: "mine", b: "2" } },
      rules: [added, readPods],
    });
    assert.deepEqual(reconcileRole(existing, { wanted, names }), {
      ...existing,
      rules: [added, readPods, listPods],
    });
  });

  it("with autoupdate false does not change", () => {
    const existing = role("r", { metadata: { name: "r", annotations: autoupdateOff }, rules: [] });
    assert.equal(reconcileRole(existing, { wanted, names }), undefined);
  });

  it("that is aggregated gets its selectors back, and keeps its controller's rules", () => {
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { x: "y" } }] };
    const next = reconcileRole(role("r"), { wanted: role("r", { rules: null, aggregationRule }), names });
    assert.deepEqual(next, role("r", { aggregationRule }));
  });
});

describe("the default roles", () => {
  it("list the parts of their rules in alphabetical order", () => {
    const { clusterRoles } = bootstrapPolicy(names, wellKnownSignerGrants(names));
    for (const { metadata, rules } of clusterRoles) {
      for (const { verbs, apiGroups, resources, nonResourceURLs } of rules ?? []) {
        for (const part of [verbs, apiGroups, resources, nonResourceURLs]) {
          assert.deepEqual(part ?? [], (part ?? []).toSorted(), metadata.name ?? "");
        }
      }
    }
  });
});

describe("a default binding", () => {
  const binding = (...names: string[]) => ({
    apiVersion: "v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "b" },
    subjects: names.map(toUser),
    roleRef: roleRef("ClusterRole", "r"),
  });

  it("gets missing subjects back, and keeps others", () => {
    assert.equal(reconcileBinding(binding("a", "b"), { wanted: binding("a"), names }), undefined);
    assert.deepEqual(reconcileBinding(binding("x"), { wanted: binding("a"), names }), {
      action: "update",
      binding: binding("x", "a"),
    });
  });

  it("of another role is replaced, unless its annotation disables updates", () => {
    const other = { ...binding("a"), roleRef: roleRef("ClusterRole", "other") };
    assert.equal(reconcileBinding(other, { wanted: binding("a"), names })?.action, "replace");
    const own = { ...other, metadata: { name: "b", annotations: autoupdateOff } };
    assert.equal(reconcileBinding(own, { wanted: binding("a"), names }), undefined);
  });
});

describe("an aggregated role", () => {
  const whole = (rules: PolicyRule[] | null, ...selectors: object[]): ClusterRole =>
    role("whole", {
      metadata: { name: "whole", labels: { part: "yes" } },
      rules,
      aggregationRule: { clusterRoleSelectors: selectors },
    });
  const part = (name: string, rules: PolicyRule[]): ClusterRole =>
    role(name, { metadata: { name, labels: { part: "yes" } }, rules });
  const parts = knownRoles(
    part("b", [listPods, readPods]),
    part("a", [readPods]),
    role("other", { rules: [{ verbs: ["*"] }] }),
  );

  it("has the rules of its parts, in the order of their names, each once", async () => {
    assert.deepEqual(await aggregateRules(whole(null, { matchLabels: { part: "yes" } }), parts), [readPods, listPods]);
  });

  it("has rules that differ in one list only", async () => {
    const whole = { verbs: ["get"], apiGroups: ["a"], resources: ["b"], resourceNames: ["c"], nonResourceURLs: ["/d"] };
    const rules = [whole, ...Object.keys(whole).map((list): PolicyRule => ({ ...whole, [list]: ["other"] }))];
    const aggregating = role("sum", { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part: "yes" } }] } });
    assert.deepEqual(await aggregateRules(aggregating, knownRoles(part("a", rules))), rules);
  });

  it("that has them already does not change, nor does one without the rule", async () => {
    assert.equal(await aggregateRules(whole([readPods, listPods], { matchLabels: { part: "yes" } }), parts), undefined);
    assert.equal(await aggregateRules(role("plain"), parts), undefined);
  });

  it("never aggregates its own rules", async () => {
    const self = whole([{ verbs: ["*"] }], { matchLabels: { part: "yes" } });
    assert.deepEqual(await aggregateRules(self, knownRoles(self)), []);
  });

  it("lets others run between parts that take long to read, and has at most as many rules as a role can have", async () => {
    const many = Array.from({ length: 6000 }, (_, n): PolicyRule => ({ ...readPods, resourceNames: [`${n}`] }));
    const slow = knownRoles(part("a", many), part("b", many), part("c", many), part("d", [readPods]));
    const wanted = whole(null, { matchLabels: { part: "yes" } });
    const get = (name: string): ClusterRole | undefined => {
      const startedAt = performance.now();
      while (!isTurnOver(startedAt));
      return slow.get(name);
    };
    const turns = await turnsDuring(async () => {
      assert.equal((await aggregateRules(wanted, { ...slow, get }))?.length, 6001);
    });
    assert.ok(turns >= 3, String(turns));
    const others = many.map((rule): PolicyRule => ({ ...rule, verbs: ["list"] }));
    await assert.rejects(aggregateRules(wanted, knownRoles(part("a", many), part("b", others))), { code: 413 });
  });

  it("lets others run between the roles that each of its selectors looks at", async (t) => {
    takeTurnForEachLook(t);
    const selectors = ["1", "2", "3", "4"].map((value) => ({ matchLabels: { other: value } }));
    const turns = await turnsDuring(() => aggregateRules(whole([], ...selectors), parts));
    assert.ok(turns >= 12, String(turns));
  });

  it("may select by expressions", async () => {
    const by = (operator: string, values?: string[]) =>
      aggregateRules(whole(null, { matchExpressions: [{ key: "part", operator, ...(values && { values }) }] }), parts);
    assert.equal((await by("In", ["yes"]))?.length, 2);
    assert.equal((await by("NotIn", ["yes"]))?.length, 1);
    assert.equal((await by("Exists"))?.length, 2);
    assert.equal((await by("DoesNotExist"))?.length, 1);
    // Validation refuses it.
    await assert.rejects(by("Unknown"), /not an operator of a label selector/);
  });
});

for (const names of [platformNames, kubernetesNames]) {
  describe(`the default policy of profile ${names.profile}`, async () => {
    const policy = bootstrapPolicy(names, wellKnownSignerGrants(names));
    const clusterRoles = new Map(policy.clusterRoles.map((one) => [one.metadata.name ?? "", one]));
    for (const [name, one] of clusterRoles) {
      const rules = await aggregateRules(one, knownRoles(...policy.clusterRoles));
      if (rules !== undefined) clusterRoles.set(name, { ...one, rules });
    }
    const policyOnly = [
      rbac(
        new RuleResolver({
          followBindings: ({ onLoaded }) => onLoaded(),
          listBindings: (namespace) => (namespace === "" ? policy.clusterRoleBindings : []),
          getBinding: () => undefined,
          getClusterRole: (name) => clusterRoles.get(name),
          getRole: () => undefined,
        }),
      ),
    ];
    const authorize = createAuthorization(() => policyOnly);
    const may = async (attributes: ReturnType<typeof asks>, ...groups: string[]): Promise<boolean> =>
      (await authorize({ ...attributes, user: user("somebody", ...groups) })).decision === "allow";
    const create = (group: "authentication" | "authorization", resource: string) =>
      asks({ verb: "create", group: names.group(group), resource, namespace: "" });

    it("names every role once, and binds only existing roles", () => {
      assert.equal(clusterRoles.size, policy.clusterRoles.length);
      for (const { roleRef: bound } of policy.clusterRoleBindings) assert.ok(clusterRoles.has(bound.name), bound.name);
    });

    it("lets anonymous users read health and version, and nothing else", async () => {
      for (const path of ["/healthz", "/livez", "/readyz", "/version"])
        assert.ok(await may(asksPath(path), "system:unauthenticated"));
      for (const path of ["/api", "/metrics", "/openid/v1/jwks", "/"])
        assert.ok(!(await may(asksPath(path), "system:unauthenticated")));
      assert.ok(!(await may(create("authentication", "selfsubjectreviews"), "system:unauthenticated")));
    });

    it("lets authenticated users read discovery and review their own permissions, and read no resource", async () => {
      assert.ok(await may(create("authentication", "selfsubjectreviews"), "system:authenticated"));
      assert.ok(await may(create("authorization", "selfsubjectaccessreviews"), "system:authenticated"));
      assert.ok(await may(asksPath("/apis/x/v1"), "system:authenticated"));
      assert.ok(!(await may(create("authentication", "tokenreviews"), "system:authenticated")));
      assert.ok(!(await may(asks({ resource: "serviceaccounts" }), "system:authenticated")));
    });

    it("lets authenticated users read trust bundles, and service accounts the issuer's documents", async () => {
      const bundles = asks({
        verb: "list",
        group: names.group("certificates"),
        resource: "clustertrustbundles",
        namespace: "",
      });
      assert.ok(await may(bundles, "system:serviceaccounts"));
      assert.ok(await may(bundles, "system:authenticated"));
      assert.ok(!(await may(bundles, "system:unauthenticated")));
      assert.ok(await may(asksPath("/openid/v1/jwks"), "system:serviceaccounts"));
    });

    it("lets the controllers' user review tokens and permissions, as kube-controller-manager does in their place", async () => {
      const controllers = user(controllerManagerUsername(names));
      for (const review of [create("authentication", "tokenreviews"), create("authorization", "subjectaccessreviews")])
        assert.equal((await authorize({ ...review, user: controllers })).decision, "allow");
    });

    it("gives admin everything of edit, and edit everything of view", () => {
      const held = (name: string): readonly PolicyRule[] => clusterRoles.get(name)?.rules ?? [];
      const includes = (name: string, resource: string): boolean =>
        held(name).some((one) => one.resources?.includes(resource) === true);
      assert.ok(includes("view", "configmaps") && !includes("view", "secrets") && !includes("view", "roles"));
      assert.ok(includes("edit", "secrets") && !includes("edit", "roles"));
      assert.ok(includes("admin", "roles"));
    });
  });
}
