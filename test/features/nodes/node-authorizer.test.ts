import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { parseFieldSelector } from "../../../src/machinery/api/selectors/field-selector.ts";
import type { ResourceAttributes } from "../../../src/machinery/api/attributes.ts";
import { namesFor, platformNames } from "../../../src/machinery/api/names.ts";
import { bootstrapPolicy } from "../../../src/features/access/policy/bootstrap-policy.ts";
import { nodeAuthorizer } from "../../../src/features/nodes/node-authorizer.ts";
import { InProcess } from "../../server/in-process.ts";
import type { SentRequest } from "../../server/in-process.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { alice, asks, user } from "../access/rbac/rbac-scene.ts";

const rules =
  bootstrapPolicy(platformNames).clusterRoles.find(({ metadata }) => metadata.name === "system:node")?.rules ?? [];
const authorize = nodeAuthorizer({
  names: platformNames,
  rules,
  objects: {
    isRelated: (node, { resource, namespace, name }) =>
      node === "n1" && namespace === "ns" && name === (resource === "pods" ? "mine" : "used"),
  },
});
const n1 = user("system:node:n1", "system:nodes");
const reasonOf = (what: Partial<ResourceAttributes>, who = n1): string => {
  const { decision, reason } = authorize(asks({ user: who, ...what }));
  assert.equal(decision, "noOpinion");
  return reason;
};
const may = (what: Partial<ResourceAttributes>, who = n1): boolean =>
  authorize(asks({ user: who, ...what })).decision === "allow";

describe("a node", () => {
  it("may read the objects that Pods on it refer to, one by one", () => {
    for (const resource of ["secrets", "configmaps"]) {
      assert.ok(may({ resource, name: "used" }));
      assert.ok(may({ resource, verb: "watch", name: "used" }));
      assert.ok(!may({ resource, name: "other" }));
      assert.ok(!may({ resource, verb: "list" }));
      assert.ok(!may({ resource, verb: "update", name: "used" }));
      assert.ok(!may({ resource, name: "used", namespace: "other" }));
    }
  });

  it("may create tokens of the accounts of Pods on it", () => {
    const token = { resource: "serviceaccounts", subresource: "token", verb: "create" };
    assert.ok(may({ ...token, name: "used" }));
    assert.ok(!may({ ...token, name: "other" }));
    for (const verb of ["update", "delete", "get"]) assert.ok(!may({ ...token, verb, name: "used" }));
    assert.ok(may({ resource: "serviceaccounts", name: "used" }));
    assert.ok(!may({ resource: "serviceaccounts", verb: "list" }));
  });

  it("may list and delete only its own Pods", () => {
    const pods = { resource: "pods" };
    assert.ok(may({ ...pods, name: "mine" }));
    assert.ok(may({ ...pods, verb: "delete", name: "mine" }));
    assert.ok(may({ ...pods, subresource: "status", verb: "patch", name: "mine" }));
    for (const subresource of ["status", "eviction"]) {
      for (const verb of ["get", "delete"]) assert.ok(!may({ ...pods, subresource, verb, name: "mine" }));
    }
    assert.ok(!may({ ...pods, name: "foreign" }));
    assert.ok(!may({ ...pods, name: "foreign", fieldSelector: parseFieldSelector("spec.nodeName=n1") }));
    assert.ok(!may({ ...pods, verb: "list" }));
    assert.ok(may({ ...pods, verb: "list", fieldSelector: parseFieldSelector("spec.nodeName=n1") }));
    assert.ok(!may({ ...pods, verb: "list", fieldSelector: parseFieldSelector("spec.nodeName=n2") }));
    assert.ok(!may({ ...pods, verb: "list", fieldSelector: parseFieldSelector("spec.nodeName=n11") }));
    for (const others of ["spec.nodeName!=n1", "metadata.name=n1"]) {
      assert.ok(!may({ ...pods, verb: "list", fieldSelector: parseFieldSelector(others) }));
      assert.ok(!may({ ...pods, verb: "watch", fieldSelector: parseFieldSelector(others) }));
    }
    // It selects nothing.
    assert.ok(may({ ...pods, verb: "list", fieldSelector: parseFieldSelector("spec.nodeName=n2,spec.nodeName=n1") }));
  });

  it("may write its own Node, Lease and CSINode, but not delete its Node", () => {
    const node = { resource: "nodes", namespace: "" };
    assert.ok(may({ ...node, name: "n1" }));
    assert.ok(may({ ...node, verb: "patch", subresource: "status", name: "n1" }));
    for (const subresource of ["proxy", "status"]) assert.ok(!may({ ...node, subresource, name: "n1" }));
    assert.ok(!may({ ...node, name: "n2" }));
    assert.ok(!may({ ...node, verb: "list" }));
    assert.ok(!may({ ...node, verb: "delete", name: "n1" }));
    const lease = { group: "coordination.platform.io", resource: "leases", namespace: "platform-node-lease" };
    assert.ok(may({ ...lease, verb: "update", name: "n1" }));
    assert.ok(may({ ...lease, verb: "create" }));
    assert.ok(!may({ ...lease, verb: "update", name: "n2" }));
    assert.ok(!may({ ...lease, verb: "create", namespace: "ns" }));
    const csiNode = { group: "storage.platform.io", resource: "csinodes", namespace: "" };
    for (const verb of ["get", "update", "patch", "delete"]) {
      assert.ok(may({ ...csiNode, verb, name: "n1" }));
      assert.ok(!may({ ...csiNode, verb, name: "n2" }));
    }
    assert.ok(may({ ...csiNode, verb: "create" }));
    for (const verb of ["list", "watch", "deletecollection"]) assert.ok(!may({ ...csiNode, verb }));
  });

  it("may read every Service, as a kubelet that starts a container does", () => {
    for (const verb of ["list", "watch"]) assert.ok(may({ resource: "services", namespace: "", verb }));
  });

  it("may request certificates, but approve none", () => {
    const request = { group: "certificates.platform.io", resource: "certificatesigningrequests", namespace: "" };
    assert.ok(may({ ...request, verb: "create" }));
    assert.ok(!may({ ...request, verb: "update", subresource: "approval", name: "x" }));
    assert.ok(!may({ group: "rbac.authorization.platform.io", resource: "roles", verb: "create" }));
  });

  it("is refused in upstream's words", () => {
    const lease = { group: "coordination.platform.io", resource: "leases", namespace: "platform-node-lease" };
    const account = { resource: "serviceaccounts" };
    const csiNode = { group: "storage.platform.io", resource: "csinodes", namespace: "" };
    const unrelated = "no relationship found between node 'n1' and this object";
    const expected: readonly (readonly [Partial<ResourceAttributes>, string])[] = [
      [{ resource: "nodes", verb: "list" }, "node 'n1' cannot read all nodes, only its own Node object"],
      [{ resource: "nodes", name: "n2" }, "node 'n1' cannot read 'n2', only its own Node object"],
      [{ resource: "nodes", verb: "delete", name: "n2" }, ""],
      [{ resource: "nodes", verb: "deletecollection" }, ""],
      [{ resource: "nodes", subresource: "status", name: "n1" }, ""],
      [{ ...lease, verb: "list" }, "can only get, create, update, patch, or delete a node lease"],
      [
        { ...lease, verb: "create", namespace: "ns" },
        'can only access leases in the "platform-node-lease" system namespace',
      ],
      [{ ...lease, name: "n2" }, "can only access node lease with the same name as the requesting node"],
      [{ ...csiNode, verb: "list" }, "can only get, create, update, patch, or delete a CSINode"],
      [{ ...csiNode, subresource: "status", name: "n1" }, "cannot authorize CSINode subresources"],
      [{ ...csiNode, name: "n2" }, "can only access CSINode with the same name as the requesting node"],
      [{ resource: "secrets", verb: "delete", name: "used" }, "can only read resources of this type"],
      [{ resource: "secrets", subresource: "x", name: "used" }, "cannot read subresource"],
      [{ resource: "secrets", verb: "list", namespace: "" }, "can only read namespaced object of this type"],
      [{ resource: "configmaps", verb: "list" }, "No Object name found"],
      [{ resource: "configmaps", name: "other" }, unrelated],
      [{ ...account, verb: "list" }, "can only create tokens for individual service accounts"],
      [{ ...account, verb: "create", name: "used" }, "can only create token subresource of serviceaccount"],
      [{ ...account, verb: "create", subresource: "token", name: "other" }, unrelated],
      [{ resource: "pods", name: "foreign" }, unrelated],
      [{ resource: "pods", verb: "watch" }, "can only list/watch pods with spec.nodeName field selector"],
      [{ resource: "pods", verb: "watch", name: "foreign" }, unrelated],
      [{ resource: "pods", verb: "update", name: "mine" }, ""],
      [{ resource: "pods", verb: "deletecollection" }, ""],
      [{ resource: "pods", subresource: "exec", verb: "create", name: "mine" }, ""],
    ];
    for (const [what, reason] of expected) assert.equal(reasonOf(what), reason, JSON.stringify(what));
    const nameless = user("system:node:", "system:nodes");
    assert.equal(reasonOf({ resource: "pods" }, nameless), 'unknown node for user "system:node:"');
    assert.equal(reasonOf({ resource: "pods" }, user("system:node:n1")), "", "no member of the group");
  });

  it("is recognized by name and group together", () => {
    for (const who of [
      user("system:node:n1"),
      user("n1", "system:nodes"),
      user("system:node:", "system:nodes"),
      alice,
    ]) {
      assert.ok(!may({ resource: "secrets", name: "used" }, who));
    }
  });
});

for (const profile of ["platform", "kubernetes"] as const) {
  describe(`a server's node (${profile})`, () => {
    const names = namesFor(profile);
    const folder = mkdtempSync(join(tmpdir(), "signet-node-authorizer-"));
    const lease = names.namespaces.nodeLease;
    const leases = `/apis/${names.group("coordination")}/v1/namespaces`;
    const pods = "/api/v1/namespaces/default/pods";
    const rbacGroup = names.group("rbac.authorization");
    const bindings = `/apis/${rbacGroup}/v1/clusterrolebindings`;
    let server: TestServer;
    let http: InProcess;
    before(async () => {
      const tokenFile = join(folder, "tokens.csv");
      const nodes = 'n1,system:node:n1,2,"system:nodes"\nnameless,system:node:,3,"system:nodes"\n';
      writeFileSync(tokenFile, `test-administrator,admin,1,"system:masters"\n${nodes}`, { mode: 0o600 });
      server = await startTestServer({ profile, tokenFile, settings: { controllers: "false" } });
      http = new InProcess(server);
      const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
      await create("/api/v1/namespaces/default/serviceaccounts", account);
      for (const name of ["n1", "n2"]) {
        await create("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name } });
        const spec = { nodeName: name, containers: [{ name: "c", image: "i" }], serviceAccountName: "default" };
        await create(pods, { apiVersion: "v1", kind: "Pod", metadata: { name: `on-${name}` }, spec });
      }
    });
    after(async () => {
      await server.stop();
      rmSync(folder, { recursive: true });
    });
    const create = async (path: string, body: object): Promise<void> =>
      assert.equal((await http.send(path, { method: "POST", body })).status, 201);
    const bind = (role: string, group: string): Promise<void> =>
      create(bindings, {
        apiVersion: `${rbacGroup}/v1`,
        kind: "ClusterRoleBinding",
        metadata: { name: `to-${role}` },
        roleRef: { apiGroup: rbacGroup, kind: "ClusterRole", name: role },
        subjects: [{ apiGroup: rbacGroup, kind: "Group", name: group }],
      });
    const refusalOf = async (path: string, sent: SentRequest = {}): Promise<string> => {
      const { status, body } = await http.send(path, { token: "n1", ...sent });
      assert.equal(status, 403, `${sent.method ?? "GET"} ${path}: ${String(body)}`);
      return (JSON.parse(String(body)) as { message: string }).message;
    };

    it("may read only its own objects", async () => {
      const cannot = 'forbidden: User "system:node:n1" cannot';
      const atCluster = "at the cluster scope: node 'n1' cannot read";
      assert.equal(
        await refusalOf("/api/v1/nodes"),
        `nodes is ${cannot} list resource "nodes" in API group "" ${atCluster} all nodes, only its own Node object`,
      );
      assert.equal(
        await refusalOf("/api/v1/nodes/n2"),
        `nodes "n2" is ${cannot} get resource "nodes" in API group "" ${atCluster} 'n2', only its own Node object`,
      );
      assert.match(
        await refusalOf(`${leases}/${lease}/leases`),
        /: can only get, create, update, patch, or delete a node lease$/,
      );
      const elsewhere = await refusalOf(`${leases}/default/leases/n1`);
      assert.ok(elsewhere.endsWith(`: can only access leases in the "${lease}" system namespace`), elsewhere);
      assert.match(await refusalOf("/api/v1/secrets"), /scope: can only read namespaced object of this type$/);
      assert.match(await refusalOf(pods, { token: "nameless" }), /: unknown node for user "system:node:"$/);
      assert.equal((await http.send("/api/v1/nodes/n1", { token: "n1" })).status, 200);
      assert.equal((await http.send(`${pods}/on-n1`, { token: "n1" })).status, 200);
    });

    it("may request a token for an audience that no volume names where a role of the account's namespace lets it", async () => {
      const { metadata } = await http.json<{ metadata: { uid: string } }>(`${pods}/on-n1`);
      const boundObjectRef = { apiVersion: "v1", kind: "Pod", name: "on-n1", uid: metadata.uid };
      const path = "/api/v1/namespaces/default/serviceaccounts/default/token";
      const request = { method: "POST", body: { spec: { audiences: ["bank"], boundObjectRef } } };
      const refusal = /audience "bank" not found in pod spec volume, system:node:n1 is not authorized/;
      const verbs = ["request-serviceaccounts-token-audience"];
      for (const namespace of [names.namespaces.public, "default"]) {
        assert.match(await refusalOf(path, request), refusal);
        const of = `/apis/${rbacGroup}/v1/namespaces/${namespace}`;
        const rules = [{ verbs, apiGroups: [""], resources: ["bank"], resourceNames: ["default"] }];
        await create(`${of}/roles`, { metadata: { name: "bank" }, rules });
        await create(`${of}/rolebindings`, {
          metadata: { name: "bank" },
          roleRef: { apiGroup: rbacGroup, kind: "Role", name: "bank" },
          subjects: [{ apiGroup: rbacGroup, kind: "Group", name: "system:nodes" }],
        });
      }
      assert.equal((await http.send(path, { ...request, token: "n1" })).status, 201);
    });

    it("may request no token without an audience where no volume asks for one", async () => {
      const spec = {
        nodeName: "n1",
        containers: [{ name: "c", image: "i" }],
        serviceAccountName: "default",
        automountServiceAccountToken: false,
        volumes: [{ name: "empty", projected: {} }],
      };
      await create(pods, { apiVersion: "v1", kind: "Pod", metadata: { name: "empty" }, spec });
      const { metadata } = await http.json(`${pods}/empty`);
      const boundObjectRef = { apiVersion: "v1", kind: "Pod", name: "empty", uid: metadata.uid };
      for (const audiences of [{}, { audiences: null }, { audiences: [] }]) {
        const body = { spec: { ...audiences, boundObjectRef } };
        const path = "/api/v1/namespaces/default/serviceaccounts/default/token";
        assert.match(await refusalOf(path, { method: "POST", body }), /audience "" not found in pod spec volume/);
      }
    });

    it("gets the reason in an access review", async () => {
      const { status } = await http.json<{ status: unknown }>(
        `/apis/${names.group("authorization")}/v1/selfsubjectaccessreviews`,
        {
          method: "POST",
          token: "n1",
          body: { spec: { resourceAttributes: { verb: "get", resource: "nodes", name: "n2" } } },
        },
      );
      const reason = "node 'n1' cannot read 'n2', only its own Node object";
      assert.deepEqual(status, { allowed: false, reason });
    });

    it("gets no rules of this authorizer in a rules review", async () => {
      const review = { method: "POST", token: "n1", body: { spec: { namespace: "default" } } };
      const path = `/apis/${names.group("authorization")}/v1/selfsubjectrulesreviews`;
      const node = "node authorizer does not support user rule resolution";
      const ask = async () =>
        (await http.json<{ status: { incomplete: boolean; evaluationError: string } }>(path, review)).status;
      const { incomplete, evaluationError } = await ask();
      assert.deepEqual({ incomplete, evaluationError }, { incomplete: true, evaluationError: node });

      await bind("gone", "system:authenticated");
      const gone = `clusterrole.${rbacGroup} "gone" not found`;
      assert.equal((await ask()).evaluationError, `[${node}, ${gone}]`);
      const { status } = await http.json<{ status: { incomplete: boolean; evaluationError: string } }>(path, {
        ...review,
        token: "",
        headers: { authorization: "Bearer test-administrator", "impersonate-user": "ada" },
      });
      assert.equal(status.incomplete, false, "a role that does not exist has no rules");
      assert.equal(status.evaluationError, gone);
      await http.send(`${bindings}/to-gone`, { method: "DELETE" });
    });

    const merge = { "content-type": "application/merge-patch+json" };
    const apply = { "content-type": "application/apply-patch+yaml" };
    const strategic = { "content-type": "application/strategic-merge-patch+json" };
    const json = { "content-type": "application/json-patch+json" };

    it("may not change another Node, by any verb", async () => {
      const metadata = { name: "n2", labels: { a: "b" } };
      const body = { apiVersion: "v1", kind: "Node", metadata };
      const operations = [{ op: "add", path: "/metadata/labels", value: { a: "b" } }];
      const before = await http.json("/api/v1/nodes/n2");
      const rule = (name: string): string =>
        `nodes "${name}" is forbidden: node "n1" is not allowed to modify node "${name}"`;
      for (const dryRun of ["", "dryRun=All"]) {
        for (const path of [`/api/v1/nodes/n2?${dryRun}`, `/api/v1/nodes/n2/status?${dryRun}`]) {
          for (const sent of [
            { method: "PUT", body },
            { method: "PATCH", headers: merge, body },
            { method: "PATCH", headers: strategic, body },
            { method: "PATCH", headers: json, body: operations },
          ]) {
            assert.equal(await refusalOf(path, sent), rule("n2"), path);
          }
          const applied = { method: "PATCH", headers: apply, body };
          assert.equal(await refusalOf(`${path}&fieldManager=f&force=true`, applied), rule("n2"));
        }
        assert.equal(await refusalOf(`/api/v1/nodes?${dryRun}`, { method: "POST", body }), rule("n2"));
        const unknown = { ...body, metadata: { name: "n3" } };
        assert.equal(await refusalOf(`/api/v1/nodes?${dryRun}`, { method: "POST", body: unknown }), rule("n3"));
        const creating = `/api/v1/nodes/n3?fieldManager=f&${dryRun}`;
        assert.equal(await refusalOf(creating, { method: "PATCH", headers: apply, body: unknown }), rule("n3"));
        const generated = { ...body, metadata: { generateName: "n" } };
        assert.match(
          await refusalOf(`/api/v1/nodes?${dryRun}`, { method: "POST", body: generated }),
          /to modify node ""/,
        );
        // Decided by the authorizer, which has nothing to say of it.
        for (const path of [`/api/v1/nodes/n2?${dryRun}`, `/api/v1/nodes/n1?${dryRun}`, `/api/v1/nodes?${dryRun}`]) {
          assert.match(
            await refusalOf(path, { method: "DELETE" }),
            /cannot delete(collection)? resource "nodes" in API group "" at the cluster scope$/,
          );
        }
      }
      assert.deepEqual(await http.json("/api/v1/nodes/n2"), before);
      assert.equal((await http.send("/api/v1/nodes/n3")).status, 404);
      const own = { method: "PATCH", headers: merge, body: { metadata: { labels: { a: "b" } } } };
      assert.equal((await http.send("/api/v1/nodes/n1", { token: "n1", ...own })).status, 200);
      assert.equal((await http.send("/api/v1/nodes/n3", { token: "n1", ...own })).status, 404);
    });

    it("may not change a Pod of another node, by any verb", async () => {
      const path = `${pods}/on-n2`;
      const before = await http.json<{ metadata: object }>(path);
      const patch = { method: "PATCH", headers: merge, body: { status: { message: "m" } } };
      const applied = {
        method: "PATCH",
        headers: apply,
        body: { apiVersion: "v1", kind: "Pod", metadata: { name: "on-n2" }, status: { message: "m" } },
      };
      for (const dryRun of ["", "dryRun=All"]) {
        assert.equal(
          await refusalOf(`${path}?${dryRun}`, { method: "DELETE" }),
          'pods "on-n2" is forbidden: node "n1" can only delete pods with spec.nodeName set to itself',
        );
        const status = `${path}/status?fieldManager=f&${dryRun}`;
        for (const sent of [{ method: "PUT", body: before }, patch, applied]) {
          assert.match(
            await refusalOf(status, sent),
            /only update pod status for pods with spec.nodeName set to itself$/,
          );
        }
        for (const sent of [{ method: "PUT", body: before }, patch, applied]) {
          assert.match(
            await refusalOf(`${path}?fieldManager=f&${dryRun}`, sent),
            /cannot (update|patch) resource "pods" in API group "" in the namespace "default"$/,
          );
        }
        assert.match(
          await refusalOf(`${pods}?${dryRun}`, { method: "DELETE" }),
          /cannot deletecollection resource "pods" in API group "" in the namespace "default"$/,
        );
        const { metadata: _metadata, ...content } = before;
        const copy = { ...content, metadata: { name: "another" } };
        assert.match(
          await refusalOf(`${pods}?${dryRun}`, { method: "POST", body: copy }),
          /can only create mirror pods$/,
        );
      }
      assert.deepEqual(await http.json(path), before);
      assert.equal((await http.send(`${pods}/gone`, { method: "DELETE", token: "n1" })).status, 404);
      const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "on-n2" } };
      const evicting = { method: "POST", body: eviction };
      assert.match(
        await refusalOf(`${path}/eviction`, evicting),
        /can only evict pods with spec.nodeName set to itself$/,
      );
      assert.equal((await http.send(`${pods}/gone/eviction`, { ...evicting, token: "n1" })).status, 404);
      const own = { ...eviction, metadata: { name: "on-n1" } };
      const tried = { method: "POST", token: "n1", body: own };
      assert.equal((await http.send(`${pods}/on-n1/eviction?dryRun=All`, tried)).status, 201);
      assert.equal((await http.send(`${pods}/on-n1`, { method: "DELETE", token: "n1" })).status, 200);
    });

    it("may not create another Lease", async () => {
      const body = { apiVersion: `${names.group("coordination")}/v1`, kind: "Lease", metadata: { name: "n2" } };
      const refusal = /can only access node lease with the same name as the requesting node$/;
      assert.match(await refusalOf(`${leases}/${lease}/leases`, { method: "POST", body }), refusal);
      const path = `${leases}/${lease}/leases/n2`;
      for (const method of ["PUT", "DELETE"]) assert.match(await refusalOf(path, { method, body }), refusal);
      const applied = { method: "PATCH", headers: apply, body };
      assert.match(await refusalOf(`${path}?fieldManager=f`, applied), refusal);
    });

    it("may not delete objects of other nodes, even where RBAC allows everything", async () => {
      await bind("cluster-admin", "system:nodes");
      for (const selector of ["", "?dryRun=All", "?fieldSelector=metadata.name%3Dn2"]) {
        const refusal = await refusalOf(`/api/v1/nodes${selector}`, { method: "DELETE" });
        assert.match(refusal, /node "n1" is not allowed to modify node "n2"$/);
      }
      assert.match(await refusalOf("/api/v1/nodes/n2", { method: "DELETE" }), /not allowed to modify node "n2"$/);
      assert.match(
        await refusalOf(pods, { method: "DELETE" }),
        /can only delete pods with spec.nodeName set to itself$/,
      );
      for (const path of ["/api/v1/nodes/n2", `${pods}/on-n2`]) assert.equal((await http.send(path)).status, 200);
      await http.send(`${bindings}/to-cluster-admin`, { method: "DELETE" });
    });
  });
}
