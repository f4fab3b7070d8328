import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clusterRoleBindings, roleBindings } from "../../../../src/features/access/rbac/role-bindings.ts";
import { clusterRoles, roles } from "../../../../src/features/access/rbac/roles.ts";
import type { ClusterRole, Role } from "../../../../src/features/access/rbac/roles.ts";
import type { RoleBinding } from "../../../../src/features/access/rbac/role-bindings.ts";
import { cells, faultsOfChange, faultsOfNew, names, prepared } from "../../resource-scene.ts";

const group = "rbac.authorization.platform.io";
const meta = (kind: string) => ({ apiVersion: `${group}/v1`, kind, metadata: { name: "a" } });
const rule = { verbs: ["get"], apiGroups: [""], resources: ["secrets"] };

describe("a role", () => {
  const role = (rules: Role["rules"]): Role => ({ ...meta("Role"), rules });

  it("may have no rules, or unusual ones", () => {
    assert.deepEqual(faultsOfNew(roles(names), role(null)), []);
    assert.deepEqual(faultsOfNew(roles(names), role([{ ...rule, verbs: ["*", "fly"], resourceNames: ["", "x"] }])), []);
  });

  it("is stored with null for no rules", () => {
    assert.equal(prepared(roles(names), role([])).rules, null);
  });

  it("reports every broken rule", () => {
    const rules = [
      { ...rule, verbs: [] },
      { ...rule, apiGroups: [], resources: [] },
      { verbs: ["get"], nonResourceURLs: ["/x"] },
    ];
    assert.deepEqual(faultsOfNew(roles(names), role(rules)), [
      "rules[0].verbs: Required value: verbs must contain at least one value",
      "rules[1].apiGroups: Required value: resource rules must supply at least one api group",
      "rules[1].resources: Required value: resource rules must supply at least one resource",
      'rules[2].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
    ]);
  });
});

describe("a cluster role", () => {
  const role = (more: Partial<ClusterRole>): ClusterRole => ({ ...meta("ClusterRole"), rules: null, ...more });

  it("separates rules for paths from rules for resources", () => {
    const definition = clusterRoles(names);
    assert.deepEqual(faultsOfNew(definition, role({ rules: [{ verbs: ["get"], nonResourceURLs: ["/healthz"] }] })), []);
    assert.deepEqual(faultsOfNew(definition, role({ rules: [{ ...rule, nonResourceURLs: ["/x"] }] })), [
      'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs',
    ]);
  });

  it("aggregates others by valid selectors", () => {
    const faults = (clusterRoleSelectors: NonNullable<ClusterRole["aggregationRule"]>["clusterRoleSelectors"] = []) =>
      faultsOfNew(clusterRoles(names), role({ aggregationRule: { clusterRoleSelectors } }));
    const field = "aggregationRule.clusterRoleSelectors";
    assert.deepEqual(faults([{ matchExpressions: [{ key: "a", operator: "Exists" }] }]), []);
    assert.deepEqual(faults(), [
      `${field}: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil`,
    ]);
    assert.deepEqual(faults([{ matchExpressions: [{ key: "a", operator: "In" }] }]), [
      `${field}[0].matchExpressions[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
      `${field}[0]: Invalid value: null: invalid label selector.`,
    ]);
  });
});

describe("a role binding", () => {
  const definition = roleBindings(names);
  const binding = (more: Partial<RoleBinding> = {}): RoleBinding => ({
    ...meta("RoleBinding"),
    roleRef: { apiGroup: group, kind: "Role", name: "r" },
    ...more,
  });

  it("fills in RBAC's group for roles, users and groups", () => {
    const { roleRef, subjects } = prepared(
      definition,
      binding({
        roleRef: { apiGroup: "", kind: "Role", name: "r" },
        subjects: [
          { kind: "User", name: "alice" },
          { kind: "Group", name: "dev" },
          { kind: "ServiceAccount", name: "bot", namespace: "n" },
        ],
      }),
    );
    assert.deepEqual(roleRef, { apiGroup: group, kind: "Role", name: "r" });
    assert.deepEqual(subjects, [
      { kind: "User", name: "alice", apiGroup: group },
      { kind: "Group", name: "dev", apiGroup: group },
      { kind: "ServiceAccount", name: "bot", namespace: "n" },
    ]);
  });

  it("names a role, and subjects of three kinds only", () => {
    const faults = faultsOfNew(
      definition,
      binding({
        roleRef: { apiGroup: "apps", kind: "Policy", name: "a/b" },
        subjects: [
          { kind: "Robot", name: "" },
          { kind: "User", name: "x", apiGroup: "apps" },
          { kind: "ServiceAccount", name: "Bad", apiGroup: group },
        ],
      }),
    );
    assert.deepEqual(
      faults.map((fault) => fault.slice(0, 60)),
      [
        'roleRef.apiGroup: Unsupported value: "apps": supported values',
        'roleRef.kind: Unsupported value: "Policy": supported values: ',
        "roleRef.name: Invalid value: \"a/b\": may not contain '/'",
        "subjects[0].name: Required value",
        'subjects[0].kind: Unsupported value: "Robot": supported value',
        'subjects[1].apiGroup: Unsupported value: "apps": supported va',
        'subjects[2].name: Invalid value: "Bad": a lowercase RFC 1123 ',
        `subjects[2].apiGroup: Unsupported value: "${group.slice(0, 19)}`,
      ].map((text) => text.slice(0, 60)),
    );
  });

  it("names its role and each of its subjects", () => {
    const nameless = ["User", "Group", "ServiceAccount"].map((kind) => ({ kind, name: "" }));
    const object = prepared(definition, binding({ roleRef: { ...binding().roleRef, name: "" }, subjects: nameless }));
    assert.deepEqual(faultsOfNew(definition, object), [
      "roleRef.name: Required value",
      "subjects[0].name: Required value",
      "subjects[1].name: Required value",
      "subjects[2].name: Required value",
    ]);
  });

  it("cannot change its role", () => {
    const next = binding({ roleRef: { apiGroup: group, kind: "ClusterRole", name: "r" } });
    assert.deepEqual(faultsOfChange(definition, next, binding()), [
      `roleRef: Invalid value: {"APIGroup":"${group}","Kind":"ClusterRole","Name":"r"}: cannot change roleRef`,
    ]);
    assert.deepEqual(faultsOfChange(definition, binding({ subjects: [] }), binding()), []);
  });

  it("shows its role and its subjects in a table", () => {
    const subjects = [
      { kind: "User", name: "alice" },
      { kind: "Group", name: "devs" },
      { kind: "ServiceAccount", name: "bot", namespace: "default" },
    ];
    assert.deepEqual(cells(definition, binding({ subjects })), ["Role/r", "<unknown>", "alice", "devs", "default/bot"]);
  });

  it("of a cluster grants only cluster roles, and names the namespace of accounts", () => {
    const object = { ...binding({ subjects: [{ kind: "ServiceAccount", name: "bot" }] }), kind: "ClusterRoleBinding" };
    assert.deepEqual(faultsOfNew(clusterRoleBindings(names), object), [
      'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
      "subjects[0].namespace: Required value",
    ]);
    const subjects = [{ kind: "ServiceAccount", name: "bot", namespace: "n" }];
    const granted = { ...object, roleRef: { ...object.roleRef, kind: "ClusterRole" }, subjects };
    assert.deepEqual(faultsOfNew(clusterRoleBindings(names), granted), []);
  });
});
