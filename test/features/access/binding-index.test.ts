import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RoleBinding } from "../../../src/features/access/rbac/role-bindings.ts";
import { alice, readPods, roleRef, TestRbac, toGroup, toUser } from "./rbac-scene.ts";

const binding = (name: string, subjects: RoleBinding["subjects"]): RoleBinding => ({
  apiVersion: "rbac.authorization.platform.io/v1",
  kind: "RoleBinding",
  metadata: { name, namespace: "ns" },
  subjects: subjects ?? [],
  roleRef: roleRef("ClusterRole", "reader"),
});

describe("a user who is bound to a role many times", () => {
  it("holds its rules once, by the first binding", () => {
    const objects = new TestRbac();
    objects.clusterRoles.set("reader", {
      apiVersion: "rbac.authorization.platform.io/v1",
      kind: "ClusterRole",
      metadata: { name: "reader" },
      rules: [readPods],
    });
    const manyTimes = Array.from({ length: 1000 }, () => toUser("alice"));
    objects.bindings = [
      binding("first", manyTimes),
      binding("second", manyTimes),
      binding("third", [toGroup("dev"), toGroup("dev")]),
    ];
    const resolver = objects.resolver();
    const grants = resolver.grants(alice, "ns");
    assert.deepEqual(
      grants.map((grant) => grant.binding.metadata.name),
      ["first", "third"],
    );
    assert.deepEqual(resolver.rulesFor(alice, "ns").rules, [readPods]);
  });

  it("holds its rules once in thousands of groups, repeated or not", () => {
    const objects = new TestRbac();
    const groups = Array.from({ length: 5000 }, (_, n) => `group-${n}`);
    objects.bindings = [binding("one", groups.map(toGroup)), binding("two", [toGroup("dev")])];
    for (const inGroups of [groups, groups.map(() => "dev")]) {
      assert.equal(objects.resolver().grants({ ...alice, groups: inGroups }, "ns").length, 1);
    }
  });

  it("keeps roles of one name apart by their namespaces", () => {
    const objects = new TestRbac();
    objects.bindings = [
      { ...binding("one", [toUser("alice")]), roleRef: roleRef("Role", "reader") },
      binding("two", [toUser("alice")]),
    ];
    assert.equal(objects.resolver().grants(alice, "ns").length, 2);
  });
});
