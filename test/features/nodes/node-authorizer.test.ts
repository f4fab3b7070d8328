import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseFieldSelector } from "../../../src/machinery/api/field-selector.ts";
import type { ResourceAttributes } from "../../../src/machinery/api/attributes.ts";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { bootstrapPolicy } from "../../../src/features/access/policy/bootstrap-policy.ts";
import { nodeAuthorizer } from "../../../src/features/nodes/node-authorizer.ts";
import { alice, asks, user } from "../access/rbac-scene.ts";

const rules =
  bootstrapPolicy(platformNames).clusterRoles.find(({ metadata }) => metadata.name === "system:node")?.rules ?? [];
const authorize = nodeAuthorizer({
  names: platformNames,
  rules,
  objects: {
    isReferenced: (node, { namespace, name }) => node === "n1" && namespace === "ns" && name === "used",
    nodeOfPod: (namespace, name) =>
      namespace === "ns" && name === "mine" ? "n1" : namespace === "ns" ? "n2" : undefined,
  },
});
const n1 = user("system:node:n1", "system:nodes");
const may = (what: Partial<ResourceAttributes>, who = n1): boolean =>
  authorize(asks({ user: who, ...what })).decision === "allow";

describe("a node", () => {
  it("reads what Pods on it refer to, one by one", () => {
    for (const resource of ["secrets", "configmaps"]) {
      assert.ok(may({ resource, name: "used" }));
      assert.ok(may({ resource, verb: "watch", name: "used" }));
      assert.ok(!may({ resource, name: "other" }));
      assert.ok(!may({ resource, verb: "list" }));
      assert.ok(!may({ resource, verb: "update", name: "used" }));
      assert.ok(!may({ resource, name: "used", namespace: "other" }));
    }
  });

  it("makes tokens of accounts that Pods on it run as", () => {
    const token = { resource: "serviceaccounts", subresource: "token", verb: "create" };
    assert.ok(may({ ...token, name: "used" }));
    assert.ok(!may({ ...token, name: "other" }));
    assert.ok(may({ resource: "serviceaccounts", name: "used" }));
    assert.ok(!may({ resource: "serviceaccounts", verb: "list" }));
  });

  it("sees and ends its own Pods only", () => {
    const pods = { resource: "pods" };
    assert.ok(may({ ...pods, name: "mine" }));
    assert.ok(may({ ...pods, verb: "delete", name: "mine" }));
    assert.ok(may({ ...pods, subresource: "status", verb: "patch", name: "mine" }));
    assert.ok(!may({ ...pods, name: "foreign" }));
    assert.ok(!may({ ...pods, verb: "list" }));
    assert.ok(may({ ...pods, verb: "list", fieldSelector: parseFieldSelector("spec.nodeName=n1") }));
    assert.ok(!may({ ...pods, verb: "list", fieldSelector: parseFieldSelector("spec.nodeName=n2") }));
    assert.ok(!may({ ...pods, verb: "list", fieldSelector: parseFieldSelector("spec.nodeName=n11") }));
  });

  it("has its own Node, which it cannot delete, and its own Lease", () => {
    const node = { resource: "nodes", namespace: "" };
    assert.ok(may({ ...node, name: "n1" }));
    assert.ok(may({ ...node, verb: "patch", subresource: "status", name: "n1" }));
    assert.ok(!may({ ...node, name: "n2" }));
    assert.ok(!may({ ...node, verb: "list" }));
    assert.ok(!may({ ...node, verb: "delete", name: "n1" }));
    const lease = { group: "coordination.platform.io", resource: "leases", namespace: "platform-node-lease" };
    assert.ok(may({ ...lease, verb: "update", name: "n1" }));
    assert.ok(may({ ...lease, verb: "create" }));
    assert.ok(!may({ ...lease, verb: "update", name: "n2" }));
    assert.ok(!may({ ...lease, verb: "create", namespace: "ns" }));
  });

  it("may request certificates, but approve none", () => {
    const request = { group: "certificates.platform.io", resource: "certificatesigningrequests", namespace: "" };
    assert.ok(may({ ...request, verb: "create" }));
    assert.ok(!may({ ...request, verb: "update", subresource: "approval", name: "x" }));
    assert.ok(!may({ group: "rbac.authorization.platform.io", resource: "roles", verb: "create" }));
  });

  it("is one by name and by group", () => {
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
