import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import type { AuthorizationAttributes } from "../../../../src/machinery/api/attributes.ts";
import type { Subject } from "../../../../src/features/access/rbac/binding.ts";
import type { PolicyRule } from "../../../../src/features/access/rbac/policy-rule.ts";
import type { RoleBinding } from "../../../../src/features/access/rbac/role-bindings.ts";
import type { Role } from "../../../../src/features/access/rbac/roles.ts";
import { isTurnOver } from "../../../../src/machinery/scheduling/request-turn.ts";
import { alwaysAllow, createAuthorization } from "../../../../src/machinery/authorization/authorizer.ts";
import type { Authorizer } from "../../../../src/machinery/authorization/authorizer.ts";
import { alice, asks, asksPath, readPods, roleRef, TestRbac, toGroup, toUser, user } from "./rbac-scene.ts";
import { turnsDuring } from "../../../turns-during.ts";

const apiVersion = "rbac.authorization.platform.io/v1";
const toAlice = toUser("alice");
const allows = async (rule: PolicyRule, attributes: AuthorizationAttributes): Promise<boolean> =>
  (await new TestRbac().grant([rule], toAlice).authorizer()(attributes)).decision === "allow";

describe("a rule", () => {
  const rule = (bent: Partial<PolicyRule>): PolicyRule => ({ ...readPods, ...bent });

  it("allows its verbs, groups and resources, case-sensitively, and no others", async () => {
    assert.ok(await allows(readPods, asks()));
    for (const other of [
      { verb: "list" },
      { verb: "GET" },
      { group: "apps" },
      { resource: "Pods" },
      { resource: "secrets" },
    ]) {
      assert.ok(!(await allows(readPods, asks(other))), JSON.stringify(other));
    }
  });

  it("may have wildcards for each of them", async () => {
    assert.ok(await allows(rule({ verbs: ["*"] }), asks({ verb: "frob" })));
    assert.ok(await allows(rule({ apiGroups: ["*"] }), asks({ group: "apps" })));
    assert.ok(await allows(rule({ resources: ["*"] }), asks({ resource: "secrets", subresource: "x" })));
  });

  it("does not allow subresources with their resource", async () => {
    assert.ok(!(await allows(readPods, asks({ subresource: "status" }))));
    assert.ok(await allows(rule({ resources: ["pods/status"] }), asks({ subresource: "status" })));
    assert.ok(!(await allows(rule({ resources: ["pods/status"] }), asks())));
    assert.ok(await allows(rule({ resources: ["*/status"] }), asks({ subresource: "status" })));
    assert.ok(!(await allows(rule({ resources: ["*/status"] }), asks({ subresource: "log" }))));
    assert.ok(
      !(await allows(rule({ resources: ["pods/*"] }), asks({ subresource: "status" }))),
      "pods/* is no pattern",
    );
  });

  it("with names allows those only, and a list only where the request names one", async () => {
    const named = rule({ verbs: ["get", "list", "watch", "deletecollection", "create"], resourceNames: ["a"] });
    assert.ok(await allows(named, asks({ name: "a" })));
    assert.ok(!(await allows(named, asks({ name: "b" }))));
    for (const verb of ["list", "watch", "deletecollection", "create"]) {
      assert.ok(!(await allows(named, asks({ verb }))), verb);
      assert.ok(await allows(named, asks({ verb, name: "a" })), verb);
    }
  });

  it("for paths allows them and, with a star, every path with that prefix", async () => {
    const paths = (...nonResourceURLs: string[]): PolicyRule => ({ verbs: ["get"], nonResourceURLs });
    assert.ok(await allows(paths("/healthz"), asksPath("/healthz")));
    assert.ok(!(await allows(paths("/healthz"), asksPath("/healthz/x"))));
    assert.ok(!(await allows(paths("/healthz"), asksPath("/healthz", "post"))));
    assert.ok(await allows(paths("/healthz/*"), asksPath("/healthz/x/y")));
    assert.ok(!(await allows(paths("/healthz/*"), asksPath("/healthz"))));
    assert.ok(await allows(paths("*"), asksPath("/any")));
    assert.ok(await allows(paths("/any**"), asksPath("/any")));
    assert.ok(!(await allows(paths("*"), asks())), "a path is no resource");
    assert.ok(!(await allows({ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }, asksPath("/any"))));
  });

  it("for a path with a million stars is read in linear time", async () => {
    const rule = { verbs: ["get"], nonResourceURLs: [`${"*".repeat(1_000_000)}/*`] };
    assert.ok(!(await allows(rule, asksPath("/any"))));
  });

  it("without verbs or resources allows nothing", async () => {
    for (const empty of [{ verbs: null }, { verbs: [] }, { resources: [] }, { apiGroups: [] }]) {
      assert.ok(!(await allows(rule(empty), asks())));
    }
    const withoutResources: PolicyRule = { verbs: ["*"], apiGroups: ["*"] };
    assert.ok(!(await allows(withoutResources, asks())));
  });

  it("does not match names of JavaScript's built-in properties", async () => {
    for (const word of ["__proto__", "constructor", "toString"]) {
      assert.ok(
        !(await allows(readPods, asks({ verb: word, resource: word, group: word, namespace: word, name: word }))),
      );
    }
  });
});

describe("a binding", () => {
  it("of a role or a cluster role in a namespace is valid only there", async () => {
    const objects = new TestRbac().grantIn("ns", [readPods], toAlice).grant([readPods]);
    objects.bind("other", { kind: "ClusterRole", name: [...objects.clusterRoles.keys()][0] ?? "" }, toAlice);
    const authorize = objects.authorizer();
    assert.equal((await authorize(asks())).decision, "allow");
    assert.equal((await authorize(asks({ namespace: "other" }))).decision, "allow");
    assert.equal((await authorize(asks({ namespace: "third" }))).decision, "noOpinion");
    assert.equal((await authorize(asks({ namespace: "" }))).decision, "noOpinion");
  });

  it("allows what one of the rules of its role allows", async () => {
    const objects = new TestRbac().grantIn("ns", [{ ...readPods, verbs: ["list"] }, readPods], toAlice);
    assert.equal((await objects.authorizer()(asks())).decision, "allow");
  });

  it("of a namespace does not allow paths", async () => {
    const objects = new TestRbac().grantIn("ns", [{ verbs: ["get"], nonResourceURLs: ["*"] }], toAlice);
    assert.equal((await objects.authorizer()(asksPath("/x"))).decision, "noOpinion");
  });

  it("matches users, groups and accounts only by their own names", async () => {
    const by = (...subjects: Parameters<TestRbac["grant"]>[1][]) =>
      new TestRbac().grantIn("ns", [readPods], ...subjects).authorizer();
    const account = user("system:serviceaccount:ns:bob");
    assert.equal((await by(toGroup("dev"))(asks())).decision, "allow");
    assert.equal((await by(toUser("dev"))(asks())).decision, "noOpinion");
    assert.equal((await by(toGroup("alice"))(asks())).decision, "noOpinion");
    assert.equal((await by({ kind: "ServiceAccount", name: "bob" })(asks({ user: account }))).decision, "allow");
    assert.equal(
      (await by({ kind: "ServiceAccount", name: "bob", namespace: "x" })(asks({ user: account }))).decision,
      "noOpinion",
    );
    assert.equal((await by(toUser(account.username))(asks({ user: account }))).decision, "allow");
  });

  it("gives its reason for allowing, in upstream's words", async () => {
    const reason = async (objects: TestRbac, attributes = asks()): Promise<string> =>
      (await objects.authorizer()(attributes)).reason;
    assert.equal(
      await reason(new TestRbac().grant([readPods], toAlice)),
      'RBAC: allowed by ClusterRoleBinding "c1-binding" of ClusterRole "c1" to User "alice"',
    );
    assert.equal(
      await reason(new TestRbac().grantIn("ns", [readPods], toGroup("dev"))),
      'RBAC: allowed by RoleBinding "r1-binding/ns" of Role "r1" to Group "dev"',
    );
    assert.equal(
      await reason(
        new TestRbac().grantIn("ns", [readPods], { kind: "ServiceAccount", name: "bob", namespace: "builds" }),
        asks({ user: user("system:serviceaccount:builds:bob") }),
      ),
      'RBAC: allowed by RoleBinding "r1-binding/ns" of Role "r1" to ServiceAccount "bob/builds"',
    );
  });

  it("of a role that does not exist is reported when the request is not allowed otherwise", async () => {
    const objects = new TestRbac().bindCluster("gone", toAlice).bind("ns", { kind: "Role", name: "lost" }, toAlice);
    assert.deepEqual(await objects.authorizer()(asks()), {
      decision: "noOpinion",
      reason:
        'RBAC: [clusterrole.rbac.authorization.platform.io "gone" not found, role.rbac.authorization.platform.io "lost" not found]',
    });
    objects.grant([readPods], toAlice);
    assert.equal((await objects.authorizer()(asks())).decision, "allow");
  });

  it("of one of a thousand roles that do not exist makes no long reason", async () => {
    const objects = new TestRbac();
    for (let role = 0; role < 1000; role++) objects.bind("ns", { kind: "Role", name: `lost-${role}` }, toAlice);
    const { reason } = await objects.authorizer()(asks());
    assert.match(reason, /"lost-0" not found/);
    assert.ok(reason.length < 5000, String(reason.length));
  });

  it("takes effect as soon as it is written, and until it is deleted", async () => {
    const objects = new TestRbac();
    const authorize = objects.authorizer();
    assert.equal((await authorize(asks())).decision, "noOpinion");
    objects.grantIn("ns", [readPods], toAlice);
    assert.equal((await authorize(asks())).decision, "allow");
    objects.remove({ namespace: "ns", name: "r1-binding" });
    assert.equal((await authorize(asks())).decision, "noOpinion");
  });
});

describe("a user with roles that take long to read", () => {
  /** Reading a role takes longer than a turn. */
  class SlowRbac extends TestRbac {
    override getRole(namespace: string, name: string): Role | undefined {
      const startedAt = performance.now();
      while (!isTurnOver(startedAt));
      return super.getRole(namespace, name);
    }
  }
  const roleCount = 4;
  const objects = new SlowRbac();
  for (let role = 0; role < roleCount; role++) objects.grantIn("ns", [readPods], toAlice);

  it("keeps others waiting for one role only, when a request is decided and when the rules are gathered", async () => {
    const authorize = objects.authorizer();
    const decided = await turnsDuring(async () => {
      assert.equal((await authorize(asks({ verb: "delete" }))).decision, "noOpinion");
    });
    assert.ok(decided >= roleCount - 1, String(decided));
    const gathered = await turnsDuring(async () => {
      assert.equal((await objects.resolver().rulesFor(alice, "ns")).rules.length, roleCount);
    });
    assert.ok(gathered >= roleCount - 1, String(gathered));
  });

  it("is still allowed by the last of them", async () => {
    const allowing = new SlowRbac();
    for (const verb of ["get", "list", "delete"]) allowing.grantIn("ns", [{ ...readPods, verbs: [verb] }], toAlice);
    assert.equal((await allowing.authorizer()(asks({ verb: "delete" }))).decision, "allow");
  });
});

describe("requests at once of a user with many roles", () => {
  it("take turns, and are decided as if each were alone", async (context) => {
    const objects = new TestRbac();
    for (let role = 0; role < 300; role += 1) objects.grantIn("ns", [{ ...readPods, verbs: [`${role}`] }], toAlice);
    const authorize = objects.authorizer();
    context.mock.method(performance, "now", () => 0); // none of them takes as long as a turn
    const atOnce = [authorize(asks({ verb: "0" })), authorize(asks({ verb: "299" })), authorize(asks({ verb: "no" }))];
    assert.deepEqual(
      atOnce.map((decision) => decision instanceof Promise),
      [false, true, true],
    );
    const decisions = await Promise.all(atOnce.map(async (decided) => (await decided).decision));
    assert.deepEqual(decisions, ["allow", "allow", "noOpinion"]);
  });
});

describe("the first request in a namespace with many bindings", () => {
  /** Reading a binding takes longer than a turn. */
  class SlowRbac extends TestRbac {
    override *listBindings(namespace: string): IterableIterator<RoleBinding> {
      for (const binding of super.listBindings(namespace)) {
        const startedAt = performance.now();
        while (!isTurnOver(startedAt));
        yield binding;
      }
    }
  }
  const roles = ["first", "changed", "removed", "last"];
  const bound = (role: string, subject: Subject): RoleBinding => ({
    apiVersion,
    kind: "RoleBinding",
    metadata: { name: role, namespace: "ns" },
    subjects: [subject],
    roleRef: roleRef("Role", role),
  });
  /** A role whose name is the verb that it allows. */
  const addRole = (objects: TestRbac, name: string): void => {
    const metadata = { name, namespace: "ns" };
    objects.roles.set(`ns/${name}`, { apiVersion, kind: "Role", metadata, rules: [{ ...readPods, verbs: [name] }] });
  };

  it("keeps others waiting for one binding only, and sees what changes meanwhile", async () => {
    const objects = new SlowRbac();
    const put = (role: string): void => {
      addRole(objects, role);
      objects.put(bound(role, toAlice));
    };
    roles.forEach(put);
    const authorize = objects.authorizer();
    const decisions = roles.concat("added").map(async (verb) => (await authorize(asks({ verb }))).decision);
    objects.put(bound("changed", toUser("bob")));
    objects.remove({ namespace: "ns", name: "removed" });
    put("added");
    let decided: readonly string[] = [];
    const turns = await turnsDuring(async () => {
      decided = await Promise.all(decisions);
    });
    assert.ok(turns >= roles.length - 1, String(turns));
    assert.deepEqual(decided, ["allow", "noOpinion", "noOpinion", "allow", "allow"]);
  });

  it("finds the bindings as they are then, whatever was written in which turn", async () => {
    const written = fc.record({
      role: fc.constantFrom(...roles),
      to: fc.constantFrom("alice", "bob", undefined),
      isInNextTurn: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(written, { maxLength: 10 }), async (writes) => {
        const objects = new SlowRbac();
        for (const [index, role] of roles.entries()) {
          addRole(objects, role);
          if (index > 0) objects.put(bound(role, toUser(index === 1 ? "bob" : "alice")));
        }
        const authorize = objects.authorizer();
        const first = authorize(asks());
        for (const { role, to, isInNextTurn } of writes) {
          if (isInNextTurn) await nextTurn();
          if (to === undefined) objects.remove({ namespace: "ns", name: role });
          else objects.put(bound(role, toUser(to)));
        }
        await first;
        for (const verb of roles) {
          const [subject] = objects.getBinding({ namespace: "ns", name: verb })?.subjects ?? [];
          const expected = subject?.name === "alice" ? "allow" : "noOpinion";
          assert.equal((await authorize(asks({ verb }))).decision, expected, verb);
        }
      }),
      { numRuns: 30 },
    );
  });
});

describe("the rules of a user", () => {
  it("are incomplete when they are larger than any role", async () => {
    const objects = new TestRbac();
    const resourceNames = Array.from({ length: 10_000 }, (_, n) => `${"n".repeat(100)}${n}`);
    const large = { ...readPods, resourceNames };
    for (let role = 0; role < 3; role++) objects.grantIn("ns", [large], toAlice);
    assert.deepEqual(await objects.resolver().rulesFor(alice, "ns"), {
      rules: [large],
      isIncomplete: true,
      errors: ["the user has more rules than can be listed: not all of them are there"],
    });
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

  it("decides and says the same when authorizers answer later", async () => {
    const later =
      (authorizer: Authorizer): Authorizer =>
      async (attributes) =>
        authorizer(attributes);
    for (const [authorizers, decision, reason] of [
      [[later(deny), alwaysAllow], "deny", "no"],
      [[later(silent("a")), deny, alwaysAllow], "deny", "no"],
      [[silent("a"), later(silent("b")), later(alwaysAllow), deny], "allow", ""],
      [[silent("a"), later(silent("b")), silent("c")], "noOpinion", "a\nb\nc"],
    ] as const) {
      assert.deepEqual(await createAuthorization(() => authorizers)(asks()), { decision, reason });
    }
  });
});
