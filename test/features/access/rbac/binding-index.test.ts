import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import fc from "fast-check";
import type { Subject } from "../../../../src/features/access/rbac/binding.ts";
import type { Grant } from "../../../../src/features/access/rbac/subject-index.ts";
import type { RuleResolver } from "../../../../src/features/access/rbac/rule-resolver.ts";
import type { RoleBinding } from "../../../../src/features/access/rbac/role-bindings.ts";
import { alice, readPods, roleRef, TestRbac, toGroup, toUser, user } from "./rbac-scene.ts";
import { collectGarbage } from "../../../collect-garbage.ts";

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
      grants.map((grant) => grant.binding.name),
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

    override listBindings(namespace: string): Iterable<RoleBinding> {
      this.lists += 1;
      return super.listBindings(namespace);
    }
  }
  const namesOf = (grants: readonly Grant[]): unknown[] => grants.map((grant) => grant.binding.name);

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

describe("bindings that are gathered in turns", () => {
  const gathering = (
    context: TestContext,
    objects: TestRbac,
  ): { readonly resolver: RuleResolver; ready(): Promise<void> } => {
    let milliseconds = 0;
    context.mock.method(performance, "now", () => (milliseconds += 10)); // each binding takes a turn
    const resolver = objects.resolver();
    const ready = resolver.prepare("ns");
    assert.ok(ready !== undefined);
    return { resolver, ready: () => ready };
  };
  const subjectsOf = (resolver: RuleResolver): string[] =>
    ["alice", "bob", "carol", "dave", "erin"].filter((name) => resolver.grants(user(name), "ns").length > 0);
  const threeBindings = (): TestRbac =>
    new TestRbac()
      .put(binding("one", [toUser("alice")]))
      .put(binding("two", [toUser("bob")]))
      .put(binding("three", [toUser("carol")]));

  it("are as they are at the end, whatever changed meanwhile", async (context) => {
    const objects = threeBindings().put(binding("unchanged", [toUser("erin")]));
    const { resolver, ready } = gathering(context, objects);
    objects.put(binding("one", [])).put(binding("three", []));
    objects.remove({ namespace: "ns", name: "two" });
    objects.put(binding("four", [toUser("dave")]));
    await ready();
    assert.deepEqual(subjectsOf(resolver), ["dave", "erin"]);
  });

  it("are forgotten when others are loaded meanwhile", async (context) => {
    const objects = threeBindings();
    const { resolver, ready } = gathering(context, objects);
    objects.replaceBindings(binding("two", [toUser("dave")]));
    await ready();
    assert.deepEqual(subjectsOf(resolver), ["dave"]);
    objects.replaceBindings(binding("two", [toUser("bob")]));
    assert.deepEqual(subjectsOf(resolver), ["bob"]);
  });
});

describe("the index of subjects", () => {
  it("keeps one grant for all users of a binding, and one for all its service accounts", () => {
    const objects = new TestRbac();
    objects.put(binding("one", [toUser("alice"), toUser("bob"), toAccount("a"), toAccount("b")]));
    const resolver = objects.resolver();
    const grantsOf = (username: string): Grant[] => resolver.grants(user(username), "ns");
    assert.equal(grantsOf("alice")[0], grantsOf("bob")[0]);
    assert.equal(grantsOf("system:serviceaccount:ns:a")[0], grantsOf("system:serviceaccount:ns:b")[0]);
    assert.equal(grantsOf("alice")[0]?.kind, "User");
    assert.equal(grantsOf("system:serviceaccount:ns:a")[0]?.kind, "ServiceAccount");
  });

  it("takes no more memory once another binding of its subjects is gone", () => {
    const count = 20_000;
    const everyone = Array.from({ length: count }, (_, n) => toUser(`user-${n}`));
    const objects = new TestRbac().put(binding("stays", everyone));
    const resolver = objects.resolver();
    resolver.grants(alice, "ns");
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    objects.put({ ...binding("goes", everyone), roleRef: roleRef("Role", "another") });
    objects.remove({ namespace: "ns", name: "goes" });
    collectGarbage();
    const each = (process.memoryUsage().heapUsed - before) / count;
    assert.ok(each < 50, `${Math.round(each)} bytes of each subject stay in memory`);
    assert.equal(resolver.grants(user("user-0"), "ns").length, 1);
  });

  it("finds the same as a look at every binding, after any changes", () => {
    const names = fc.constantFrom("a", "b", "c");
    const subjects = fc.array(
      fc.oneof(
        names.map(toUser),
        names.map(toGroup),
        names.map((name) => toAccount(name)),
        fc.tuple(names, names).map(([name, namespace]) => toAccount(name, namespace)),
        names.map((name) => toUser(`system:serviceaccount:ns:${name}`)),
      ),
      { maxLength: 6 },
    );
    const change = fc.record({ name: names, role: names, subjects: fc.option(subjects, { nil: undefined }) });
    const askers = ["a", "b", "c"].flatMap((name) => [
      user(name, "a", "b"),
      user(`system:serviceaccount:ns:${name}`, "c"),
      user(`system:serviceaccount:${name}:${name}`),
    ]);
    fc.assert(
      fc.property(fc.array(change, { maxLength: 12 }), (changes) => {
        const objects = new TestRbac();
        const resolver = objects.resolver();
        for (const { name, role, subjects: bound } of changes) {
          if (bound === undefined) objects.remove({ namespace: "ns", name });
          else objects.put({ ...binding(name, bound), roleRef: roleRef("Role", role) });
          for (const asker of askers) {
            const found = resolver.grants(asker, "ns").map(({ binding: { roleKey } }) => roleKey);
            const named = [...objects.listBindings("ns")].filter(
              (one) => one.subjects?.some(isSubject(asker)) === true,
            );
            assert.deepEqual(new Set(found), new Set(named.map(({ roleRef: { name: of } }) => `Role/ns/${of}`)));
          }
        }
      }),
    );
  });
});

const toAccount = (name: string, namespace?: string): Subject => ({
  kind: "ServiceAccount",
  name,
  ...(namespace !== undefined && { namespace }),
});

const isSubject =
  ({ username, groups }: typeof alice) =>
  ({ kind, name, namespace = "ns" }: Subject): boolean =>
    kind === "User"
      ? name === username
      : kind === "Group"
        ? groups.includes(name)
        : username === `system:serviceaccount:${namespace}:${name}`;
