import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AdmissionAttributes } from "../../../../src/machinery/api/attributes.ts";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import type { PolicyRule } from "../../../../src/features/access/rbac/policy-rule.ts";
import type { RoleBinding } from "../../../../src/features/access/rbac/role-bindings.ts";
import type { ClusterRole } from "../../../../src/features/access/rbac/roles.ts";
import { bindingEscalation, roleEscalation } from "../../../../src/features/access/rbac/escalation-rules.ts";
import { LongWork } from "../../../../src/machinery/scheduling/long-work.ts";
import { alice, readPods, roleRef, TestRbac, toUser, user } from "./rbac-scene.ts";

const group = "rbac.authorization.platform.io";
const everything: PolicyRule = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };
const allPaths: PolicyRule = { verbs: ["*"], nonResourceURLs: ["*"] };

function guards(objects: TestRbac) {
  const options = { authorize: objects.authorizer(), resolver: objects.resolver() };
  const rules = [roleEscalation(platformNames, options), bindingEscalation(platformNames, options)];
  return async (attributes: AdmissionAttributes): Promise<void> => {
    for (const rule of rules) if (rule.appliesTo?.(attributes) !== false) await rule.admit?.(attributes);
  };
}

const written = (object: ClusterRole | RoleBinding, bent: Partial<AdmissionAttributes> = {}): AdmissionAttributes => ({
  operation: "CREATE",
  user: alice,
  group,
  requestedGroup: group,
  version: "v1",
  resource: `${object.kind.toLowerCase()}s`,
  subresource: "",
  kind: object.kind,
  namespace: object.metadata.namespace ?? "",
  name: object.metadata.name ?? "",
  pathName: object.metadata.name ?? "",
  object,
  isDryRun: false,
  requestedVersion: "v1",
  recorder: { warn: () => {} },
  ...bent,
});

const role = (rules: PolicyRule[] | null, bent: Partial<ClusterRole> = {}): ClusterRole => ({
  apiVersion: `${group}/v1`,
  kind: "Role",
  metadata: { name: "more", namespace: "ns" },
  rules,
  ...bent,
});
const clusterRole = (bent: Partial<ClusterRole>): ClusterRole =>
  role(null, { kind: "ClusterRole", metadata: { name: "more" }, ...bent });
const binding = (kind: string, name: string, namespace?: string): RoleBinding => ({
  apiVersion: `${group}/v1`,
  kind: namespace === undefined ? "ClusterRoleBinding" : "RoleBinding",
  metadata: { name: "b", ...(namespace !== undefined && { namespace }) },
  subjects: [toUser("mallory")],
  roleRef: roleRef(kind, name),
});
const toAlice = toUser("alice");
const is403 = { code: 403, reason: "Forbidden" };

describe("the author of a role", () => {
  const holdsReadPods = () => new TestRbac().grantIn("ns", [readPods], toAlice);

  it("must hold its rules", async () => {
    const admit = guards(holdsReadPods());
    await admit(written(role([readPods])));
    await admit(written(role([])));
    await admit(written(role(null)));
    await assert.rejects(admit(written(role([{ ...readPods, verbs: ["delete"] }]))), is403);
    await assert.rejects(admit(written(role([everything]))), is403);
  });

  it("lets others have a turn between the permissions that are compared", async (t) => {
    const pause = t.mock.method(LongWork.prototype, "pause", () => undefined);
    const resources = ["a", "b", "c", "d", "e", "f", "g", "h"];
    await assert.rejects(guards(holdsReadPods())(written(role([{ ...readPods, resources }]))), is403);
    assert.ok(pause.mock.callCount() >= 8, String(pause.mock.callCount()));
  });

  it("must hold them in that namespace, not in another", async () => {
    const admit = guards(holdsReadPods());
    await assert.rejects(admit(written(role([readPods], { metadata: { name: "m", namespace: "other" } }))), is403);
    await assert.rejects(admit(written(clusterRole({ rules: [readPods] }))), is403);
  });

  it("is refused with the missing permissions, sorted, and a role that does not exist", async () => {
    const objects = holdsReadPods().bind("ns", { kind: "Role", name: "lost" }, toAlice);
    const wanted = [
      { verbs: ["get", "list"], apiGroups: [""], resources: ["secrets"], resourceNames: ["x"] },
      { ...readPods, verbs: ["get", "delete"] },
    ];
    await assert.rejects(guards(objects)(written(role(wanted))), {
      ...is403,
      details: { name: "more", group, kind: "roles" },
      message:
        `roles.${group} "more" is forbidden: user "alice" (groups=["dev"]) is attempting to grant RBAC permissions not currently held:\n` +
        '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}\n' +
        '{APIGroups:[""], Resources:["secrets"], ResourceNames:["x"], Verbs:["get" "list"]}' +
        `; resolution errors: [roles.${group} "lost" not found]`,
    });
  });

  it("is refused with the name of a missing role once, also where a role and a cluster role of that name are missing", async () => {
    const objects = holdsReadPods().bind("ns", { kind: "Role", name: "lost" }, toAlice).bindCluster("lost", toAlice);
    await assert.rejects(guards(objects)(written(role([everything]))), {
      message: new RegExp(`; resolution errors: \\[roles\\.${group} "lost" not found\\]$`),
    });
  });

  it("is refused in a message of bounded length, however many permissions are missing and however long their names are", async () => {
    const number = (index: number): string => String(index).padStart(2, "0");
    const many = Array.from({ length: 51 }, (_, index) => ({ ...readPods, resources: [`r${number(index)}`] }));
    const long = "n".repeat(301);
    const names = Array.from({ length: 51 }, (_, index) => `g${number(index)}`);
    const attempt = async (rules: PolicyRule[], groups: readonly string[] = []): Promise<string> => {
      const sent = written(role(rules), { user: user("alice", ...groups) });
      return guards(new TestRbac())(sent).then(
        () => "nothing is missing",
        ({ message }: Error) => message,
      );
    };
    const lines = (await attempt(many)).split("\n");
    assert.match(lines.at(50) ?? "", /Resources:\["r49"\]/);
    assert.deepEqual(lines.slice(51), ["... and 1 more"]);
    assert.equal((await attempt(many.slice(1))).split("\n").length, 51);
    const tooMany = Array.from({ length: 1001 }, (_, index) => `r${index}`);
    assert.match(
      await attempt([{ ...readPods, resources: tooMany }]),
      /too many RBAC permissions to compare .*: split/,
    );
    assert.match(await attempt([readPods], names), /"g49" "\.\.\. and 1 more"\]\)/);
    assert.match(await attempt([readPods], names.slice(1)), /"g50"\]\)/);
    assert.match(await attempt([{ ...readPods, resources: [long] }]), /Resources:\["n{300}\.\.\."\]/);
    assert.match(await attempt([{ ...readPods, resources: [long.slice(1)] }]), /Resources:\["n{300}"\]/);
  });

  it("is refused with all roles that do not exist, named as what is written", async () => {
    const objects = holdsReadPods()
      .bind("ns", { kind: "Role", name: "lost" }, toAlice)
      .bind("ns", { kind: "ClusterRole", name: "gone" }, toAlice);
    await assert.rejects(guards(objects)(written(role([everything]))), {
      message: new RegExp(
        `; resolution errors: \\[\\[roles\\.${group} "lost" not found, roles\\.${group} "gone" not found\\]\\]$`,
      ),
    });
  });

  it("is refused with a word about rules that were left out, when the author has too many to gather", async () => {
    const resourceNames = Array.from({ length: 10_000 }, (_, index) => `${"n".repeat(100)}${index}`);
    const objects = holdsReadPods().bind("ns", { kind: "Role", name: "lost" }, toAlice);
    for (let large = 0; large < 3; large += 1) objects.grantIn("ns", [{ ...readPods, resourceNames }], toAlice);
    const lost = `roles.${group} "lost" not found`;
    const errors = `${lost}, the user has more rules than can be listed: not all of them are there`;
    await assert.rejects(guards(objects)(written(role([everything]))), ({ message }: Error) =>
      message.endsWith(`; resolution errors: [[${errors}]]`),
    );
  });

  it("may not change even its labels without its rules, but may change what garbage collection needs", async () => {
    const admit = guards(new TestRbac());
    const oldObject = role([everything]);
    const changed = (metadata: object): AdmissionAttributes =>
      written({ ...oldObject, metadata: { ...oldObject.metadata, ...metadata } }, { operation: "UPDATE", oldObject });
    await assert.rejects(admit(changed({ labels: { a: "b" } })), is403);
    await admit(changed({ finalizers: [], ownerReferences: [] }));
    // It is not stored, and old clients send it.
    await admit(changed({ selfLink: "/apis/old" }));
  });

  it("must hold everything to write an aggregation rule, or to change one", async () => {
    const aggregated = clusterRole({ aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] } });
    const some = guards(new TestRbac().grant([readPods], toAlice));
    await assert.rejects(some(written(aggregated)), is403);
    await assert.rejects(some(written(clusterRole({}), { operation: "UPDATE", oldObject: aggregated })), is403);
    await guards(new TestRbac().grant([everything, allPaths], toAlice))(written(aggregated));
    const plain = clusterRole({ rules: [readPods] });
    await some(written(plain, { operation: "UPDATE", oldObject: clusterRole({ rules: [] }) }));
  });

  it("may write any rules with the verb escalate on that role", async () => {
    const escalate = { verbs: ["escalate"], apiGroups: [group], resources: ["roles"], resourceNames: ["more"] };
    const admit = guards(new TestRbac().grantIn("ns", [escalate], toAlice));
    await admit(written(role([everything])));
    await assert.rejects(admit(written(role([everything], { metadata: { name: "other", namespace: "ns" } }))), is403);
    // A POST names the role in its body alone, and names of roles do not limit that.
    await assert.rejects(admit(written(role([everything]), { pathName: "" })), is403);
  });

  it("may be in system:masters; dry runs are checked; deletes and other groups' roles are not", async () => {
    const admit = guards(new TestRbac());
    await admit(written(role([everything]), { user: user("root", "system:masters") }));
    await assert.rejects(admit(written(role([everything]), { isDryRun: true })), is403);
    await admit(written(role([everything]), { operation: "DELETE" }));
    await admit(written(role([everything]), { group: "other.example.org" }));
  });
});

describe("the author of a binding", () => {
  const objects = () => {
    const all = new TestRbac().grantIn("ns", [readPods], toAlice);
    all.roles.set("ns/weak", role([readPods]));
    all.roles.set("ns/strong", role([everything]));
    all.clusterRoles.set("weak", clusterRole({ rules: [readPods] }));
    return all;
  };

  it("must hold the rules of its role where the binding is", async () => {
    const admit = guards(objects());
    await admit(written(binding("Role", "weak", "ns")));
    await admit(written(binding("ClusterRole", "weak", "ns")));
    await assert.rejects(admit(written(binding("Role", "strong", "ns"))), {
      ...is403,
      details: { name: "b", group, kind: "rolebindings" },
    });
    await assert.rejects(admit(written(binding("ClusterRole", "weak"))), is403);
  });

  it("may not change a stronger binding's subjects or labels", async () => {
    const oldObject = binding("Role", "strong", "ns");
    const admit = guards(objects());
    const next = { ...oldObject, metadata: { ...oldObject.metadata, labels: { a: "b" } } };
    await assert.rejects(admit(written(next, { operation: "UPDATE", oldObject })), is403);
  });

  it("may change what garbage collection needs of a stronger binding", async () => {
    const oldObject = binding("Role", "strong", "ns");
    const next = { ...oldObject, metadata: { ...oldObject.metadata, finalizers: [], ownerReferences: [] } };
    await guards(objects())(written(next, { operation: "UPDATE", oldObject }));
  });

  it("gets an error for a role that does not exist", async () => {
    await assert.rejects(guards(objects())(written(binding("Role", "absent", "ns"))), {
      code: 404,
      details: { name: "absent", group, kind: "rolebindings" },
    });
  });

  it("gets an error for a reference that names no role", async () => {
    const admit = guards(objects());
    const refused = (message: string) => ({ code: 400, message });
    await assert.rejects(admit(written(binding("Role", "weak"))), refused("Namespace parameter required."));
    await assert.rejects(admit(written(binding("Role", "", "ns"))), refused("Name parameter required."));
    const unknown = binding("Nope", "weak", "ns");
    await assert.rejects(admit(written(unknown)), refused('unsupported role reference kind: "Nope"'));
  });

  it("may be in system:masters, whatever the reference names: its validation comes later", async () => {
    const admit = guards(objects());
    const root = { user: user("root", "system:masters") };
    for (const [kind, name, namespace] of [
      ["Role", "strong", "ns"],
      ["Role", "absent", "ns"],
      ["Nope", "weak", "ns"],
    ] as const) {
      await admit(written(binding(kind, name, namespace), root));
    }
  });

  it("may grant any role with the verb bind on that role", async () => {
    const bind = { verbs: ["bind"], apiGroups: [group], resources: ["roles"], resourceNames: ["strong", "absent"] };
    const admit = guards(objects().grantIn("ns", [bind], toAlice));
    await admit(written(binding("Role", "strong", "ns")));
    await admit(written(binding("Role", "absent", "ns")));
  });
});
