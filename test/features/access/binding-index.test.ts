import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Grant } from "../../../src/features/access/rbac/binding-index.ts";
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
  it("holds its rules once, by the first binding", async () => {
    const objects = new TestRbac();
    objects.clusterRoles.set("reader", {
      apiVersion: "rbac.authorization.platform.io/v1",
      kind: "ClusterRole",
      metadata: { name: "reader" },
      rules: [readPods],
    });
    const manyTimes = Array.from({ length: 1000 }, () => toUser("alice"));
    objects.put(binding("first", manyTimes)).put(binding("second", manyTimes));
    objects.put(binding("third", [toGroup("dev"), toGroup("dev")]));
    const resolver = objects.resolver();
    const grants = resolver.grants(alice, "ns");
    assert.deepEqual(
      grants.map((grant) => grant.binding.metadata.name),
      ["first", "third"],
    );
    assert.deepEqual((await resolver.rulesFor(alice, "ns")).rules, [readPods]);
  });

  it("holds its rules once in thousands of groups, repeated or not", () => {
    const objects = new TestRbac();
    const groups = Array.from({ length: 5000 }, (_, n) => `group-${n}`);
    objects.put(binding("one", groups.map(toGroup))).put(binding("two", [toGroup("dev")]));
    for (const inGroups of [groups, groups.map(() => "dev")]) {
      assert.equal(objects.resolver().grants({ ...alice, groups: inGroups }, "ns").length, 1);
    }
  });

  it("keeps roles of one name apart by their namespaces", () => {
    const objects = new TestRbac();
    objects.put({ ...binding("one", [toUser("alice")]), roleRef: roleRef("Role", "reader") });
    objects.put(binding("two", [toUser("alice")]));
    assert.equal(objects.resolver().grants(alice, "ns").length, 2);
  });
});

describe("a change of a binding", () => {
  class CountedRbac extends TestRbac {
    lists = 0;

    override listBindings(namespace: string): readonly RoleBinding[] {
      this.lists += 1;
      return super.listBindings(namespace);
    }
  }
  const namesOf = (grants: readonly Grant[]): unknown[] => grants.map((grant) => grant.binding.metadata.name);

  it("is followed without a look at the other bindings", () => {
    const objects = new CountedRbac().bindCluster("all", toUser("bob"));
    objects.put(binding("one", [toUser("alice")]));
    const resolver = objects.resolver();
    assert.deepEqual(namesOf(resolver.grants(alice, "ns")), ["one"]);
    const before = objects.lists;
    objects.put(binding("one", [toUser("bob")]));
    assert.deepEqual(namesOf(resolver.grants(alice, "ns")), []);
    objects.put(binding("two", [toUser("alice"), toGroup("dev")]));
    assert.deepEqual(namesOf(resolver.grants(alice, "ns")), ["two", "two"]);
    objects.bindCluster("reader", toUser("alice"));
    assert.deepEqual(namesOf(resolver.grants(alice, "ns")), ["reader-binding", "two", "two"]);
    objects.remove({ namespace: "", name: "reader-binding" });
    assert.deepEqual(namesOf(resolver.grants(alice, "ns")), ["two", "two"]);
    assert.equal(objects.lists, before);
  });

  it("lets the next binding of the same role grant it", () => {
    const objects = new TestRbac();
    for (const name of ["one", "two", "three"]) objects.put(binding(name, [toUser("alice"), toUser("alice")]));
    const resolver = objects.resolver();
    for (const name of ["one", "two", "three"]) {
      assert.deepEqual(namesOf(resolver.grants(alice, "ns")), [name]);
      objects.remove({ namespace: "ns", name });
    }
    assert.deepEqual(namesOf(resolver.grants(alice, "ns")), []);
    objects.put(binding("four", [toUser("alice")]));
    assert.deepEqual(namesOf(resolver.grants(alice, "ns")), ["four"]);
  });
});
