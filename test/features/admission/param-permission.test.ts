import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { configMap, matching, policyOf, PolicyScene } from "./policy-scene.ts";
import type { Answer } from "./policy-scene.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const group = "/apis/admissionregistration.k8s.io/v1";
const policies = `${group}/validatingadmissionpolicies`;
const bindings = `${group}/validatingadmissionpolicybindings`;
const merge = "application/merge-patch+json";

const showing = (apiVersion: string, kind: string): Record<string, unknown> => ({
  paramKind: { apiVersion, kind },
  matchConstraints: matching(["configmaps"]),
  validations: [{ expression: "false", messageExpression: "string(params.data.password)" }],
});

const bindingOf = (name: string, policyName: string, paramRef: Record<string, unknown>): Record<string, unknown> => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicyBinding",
  metadata: { name },
  spec: { policyName, validationActions: ["Warn"], paramRef: { parameterNotFoundAction: "Deny", ...paramRef } },
});

const toKey = { name: "key", namespace: "vault" };

describe("a user who writes admission policies", () => {
  let scene: PolicyScene;
  const bob = (method: string, path: string, body: unknown, type = "application/json"): Promise<Answer> =>
    scene.send(method, path, body, { token: "bob", type });

  /** Gives Bob a permission on Secrets, in all namespaces or in one. */
  async function grant(rule: Record<string, unknown>, { namespace = "" } = {}): Promise<void> {
    const place = namespace === "" ? rbac : `${rbac}/namespaces/${namespace}`;
    const kind = namespace === "" ? "ClusterRole" : "Role";
    const name = "reads-secrets";
    const apiGroup = "rbac.authorization.k8s.io";
    const subjects = [{ apiGroup, kind: "User", name: "bob" }];
    const plural = kind.toLowerCase();
    const rules = [{ apiGroups: [""], resources: ["secrets"], ...rule }];
    await scene.send("POST", `${place}/${plural}s`, { metadata: { name }, rules });
    await scene.send("POST", `${place}/${plural}bindings`, {
      metadata: { name },
      roleRef: { apiGroup, kind, name },
      subjects,
    });
  }

  before(async () => {
    scene = await PolicyScene.start();
    await scene.send("POST", "/api/v1/namespaces", { metadata: { name: "vault" } });
    const secret = { metadata: { name: "key" }, stringData: { password: "hunter2" } };
    await scene.send("POST", "/api/v1/namespaces/vault/secrets", secret);
    const rules = [
      { apiGroups: ["admissionregistration.k8s.io"], resources: ["*"], verbs: ["*"] },
      { apiGroups: [""], resources: ["configmaps"], verbs: ["create"] },
    ];
    await scene.send("POST", `${rbac}/clusterroles`, { metadata: { name: "policies" }, rules });
    await scene.send("POST", `${rbac}/clusterrolebindings`, {
      metadata: { name: "policies" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "policies" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "bob" }],
    });
  });
  afterEach(async () => {
    await scene.clear();
    for (const place of [rbac, `${rbac}/namespaces/vault`]) {
      const prefix = place === rbac ? "cluster" : "";
      await scene.send("DELETE", `${place}/${prefix}rolebindings/reads-secrets`);
      await scene.send("DELETE", `${place}/${prefix}roles/reads-secrets`);
    }
  });
  after(() => scene.stop());

  it("names no kind of params whose objects they may not get", async () => {
    const refused = await bob("POST", policies, policyOf("shows", showing("v1", "Secret")));
    assert.deepEqual([refused.code, refused.reason], [422, "Invalid"]);
    assert.equal(
      refused.message,
      'ValidatingAdmissionPolicy.admissionregistration.k8s.io "shows" is invalid: spec.paramKind: Forbidden: ' +
        'user "bob" must have "get" permission on all objects of the referenced paramKind (kind=Secret, apiVersion=v1)',
    );
    const unserved = await bob("POST", policies, policyOf("shows", showing("example.com/v1", "Vault")));
    assert.match(unserved.message, /\(kind=Vault, apiVersion=example.com\/v1\)$/);
    await grant({ verbs: ["get"] }, { namespace: "vault" });
    assert.equal((await bob("POST", policies, policyOf("shows", showing("v1", "Secret")))).code, 422);
    await grant({ verbs: ["get"] });
    assert.equal((await bob("POST", policies, policyOf("shows", showing("v1", "Secret")))).status, 201);
  });

  it("changes a policy of others, but not to another kind of params", async () => {
    await scene.send("POST", policies, policyOf("shows", showing("v1", "Secret")));
    const patched = (patch: unknown): Promise<Answer> => bob("PATCH", `${policies}/shows`, patch, merge);
    assert.equal((await patched({ metadata: { labels: { a: "b" } } })).status, 200);
    assert.match((await patched({ spec: { paramKind: { kind: "ConfigMap" } } })).message, /spec.paramKind: Forbidden/);
  });

  it("binds no params that they may not read, and so is not told what is in them", async () => {
    await scene.send("POST", policies, policyOf("shows", showing("v1", "Secret")));
    const named = bindingOf("named", "shows", toKey);
    const refused = await bob("POST", bindings, named);
    assert.equal(
      refused.message,
      'ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io "named" is invalid: spec.paramRef: Forbidden: ' +
        'user "bob" does not have "get" permission on the object referenced by paramRef',
    );
    const written = await bob("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", configMap("a"));
    assert.deepEqual([written.status, written.warnings], [201, []]);
    await grant({ verbs: ["get"], resourceNames: ["key"] }, { namespace: "vault" });
    assert.equal((await bob("POST", bindings, named)).status, 201);
    const selected = bindingOf("selected", "shows", { selector: {}, namespace: "vault" });
    assert.match((await bob("POST", bindings, selected)).message, /does not have "list" permission/);
  });

  it("changes nothing of a binding whose params they may not read, not even its labels", async () => {
    await scene.send("POST", policies, policyOf("shows", showing("v1", "Secret")));
    await scene.send("POST", bindings, bindingOf("others", "shows", toKey));
    const patched = (patch: unknown): Promise<Answer> => bob("PATCH", `${bindings}/others`, patch, merge);
    assert.match((await patched({ metadata: { labels: { a: "b" } } })).message, /spec.paramRef: Forbidden/);
    assert.equal((await patched({ spec: { paramRef: null } })).status, 200);
  });

  it("binds params of a policy that says no kind, or does not exist, only with the right to read everything", async () => {
    const plain = { matchConstraints: matching(["configmaps"]), validations: [{ expression: "true" }] };
    await scene.send("POST", policies, policyOf("plain", plain));
    await grant({ verbs: ["get", "list"] });
    assert.match((await bob("POST", bindings, bindingOf("b", "plain", toKey))).message, /spec.paramRef: Forbidden/);
    const absent = await bob("POST", bindings, bindingOf("b", "absent", toKey));
    assert.match(absent.message, /unable to get policy absent .* "bob" does not have "get" permission for all groups/);
    await grant({ verbs: ["get"], apiGroups: ["*"], resources: ["*"] }, { namespace: "vault" });
    assert.equal((await bob("POST", bindings, bindingOf("b", "absent", toKey))).status, 201);
  });
});
