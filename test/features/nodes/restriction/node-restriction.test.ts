import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { nodeRestriction } from "../../../../src/features/nodes/restriction/node-restriction.ts";
import { findWellKnownSigner } from "../../../../src/features/certificates/signers/well-known-signers.ts";
import type { AdmissionAttributes } from "../../../../src/machinery/api/attributes.ts";
import { alice, allowing, apiObject, certificates, names, node, refusalOf } from "../../admission-scene.ts";
import { signerNames } from "../../../../src/features/certificates/signer-names.ts";

const mountedToken = (audience?: string, others: readonly object[] = []) => ({
  name: "token",
  projected: {
    sources: [...others, { serviceAccountToken: { path: "token", ...(audience !== undefined && { audience }) } }],
  },
});
const pod = (nodeName: string, metadata: object = {}, spec: object = {}) =>
  apiObject({
    metadata: { name: "p", uid: "pu", ...metadata },
    spec: { nodeName, containers: [], ...spec },
  });
const pods = new Map([
  ["mine", pod("n1", {}, { volumes: [mountedToken(), mountedToken("vault", [{ configMap: { name: "root-ca" } }])] })],
  ["bare", pod("n1")],
  ["other", pod("n2")],
]);
const rule = nodeRestriction({
  names,
  authorize: allowing(
    "request-serviceaccounts-token-audience granted a",
    "request-serviceaccounts-token-audience api granted",
  ),
  certifiesNodes: (signerName) => findWellKnownSigner(names, signerName)?.certifies === "node",
  findPod: (_namespace, name) => pods.get(name),
  findNode: (name) => (name === "n1" ? apiObject({ metadata: { name, uid: "nu" } }) : undefined),
});
const write = (more: Partial<AdmissionAttributes>) => refusalOf(rule, { user: node, namespace: "ns", ...more });
const refuses = async (more: Partial<AdmissionAttributes>, expected: RegExp): Promise<void> =>
  assert.match((await write(more)) ?? "allowed", expected);
const allows = async (more: Partial<AdmissionAttributes>): Promise<void> => assert.equal(await write(more), undefined);

describe("a node's identity", () => {
  it("does not limit other users", async () => {
    await allows({
      user: alice,
      resource: "nodes",
      name: "n2",
      object: apiObject({ metadata: { name: "n2" }, spec: {} }),
    });
  });

  it("without a name does not count as a node", async () => {
    const user = { ...node, username: "system:node:" };
    await refuses({ user, resource: "nodes" }, /could not determine node from user "system:node:"$/);
  });
});

describe("a node's Node", () => {
  const own = (metadata: object = {}, spec: object = {}) =>
    apiObject({ metadata: { name: "n1", labels: { "platform.io/hostname": "h" }, ...metadata }, spec });
  const update = (object: ReturnType<typeof own>) =>
    ({ operation: "UPDATE", resource: "nodes", name: "n1", object, oldObject: own() }) as const;

  it("is the only one that it may write", async () => {
    await allows({ resource: "nodes", name: "n1", object: own() });
    await allows({ operation: "DELETE", resource: "nodes", name: "n1" });
    await refuses(
      { operation: "DELETE", resource: "nodes", name: "n2" },
      /node "n1" is not allowed to modify node "n2"$/,
    );
    // The path of a create has no name.
    await refuses({ resource: "nodes", name: "", object: own({ name: "n2" }) }, /is not allowed to modify node "n2"$/);
  });

  it("cannot change its taints, nor its owners, by which it would delete itself", async () => {
    await refuses(update(own({}, { taints: [{ key: "k", effect: "NoSchedule" }] })), /not allowed to modify taints$/);
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name: "gone", uid: "x" }];
    await refuses(update(own({ ownerReferences })), /not allowed to modify ownerReferences$/);
    const create = { resource: "nodes", name: "n1", object: own({ ownerReferences }) };
    await refuses(create, /not allowed to set ownerReferences$/);
  });

  it("may keep the source of its configuration, and get no new one", async () => {
    const configSource = { configMap: { name: "a" } };
    const create = { resource: "nodes", name: "n1", object: own({}, { configSource: {} }) };
    await refuses(create, /not allowed to create pods with a non-nil configSource$/);
    const fault = /not allowed to update configSource to a new non-nil configSource$/;
    for (const source of [{}, configSource]) await refuses(update(own({}, { configSource: source })), fault);
    await allows({ ...update(own({}, { configSource })), oldObject: own({}, { configSource }) });
    const another = own({}, { configSource: { configMap: { name: "b" } } });
    await refuses({ ...update(another), oldObject: own({}, { configSource }) }, fault);
    await allows({ ...update(own()), oldObject: own({}, { configSource }) });
  });

  it("may have labels about the machine, but none that attract Pods to it", async () => {
    const labelled = (labels: Record<string, string>) => update(own({ labels }));
    await allows(labelled({ "platform.io/hostname": "other", "node.platform.io/x": "y", "example.com/a": "b" }));
    await refuses(
      labelled({ "platform.io/hostname": "h", "node-restriction.platform.io/a": "b", "platform.io/role": "x" }),
      /is not allowed to modify labels: node-restriction.platform.io\/a, platform.io\/role$/,
    );
    await allows(labelled({ "kubelet.platform.io/a": "b", "a.node.platform.io/c": "d" }));
    await refuses(labelled({ "a.platform.io/role": "x" }), /modify labels: a.platform.io\/role$/);
    const attracting = own({ labels: { "node-restriction.platform.io/a": "b" } });
    await allows({ ...update(attracting), oldObject: attracting });
    await refuses({ ...update(own()), oldObject: attracting }, /modify labels: node-restriction.platform.io\/a$/);
    await refuses(
      { resource: "nodes", name: "n1", object: attracting },
      /is not allowed to set the following labels: node-restriction.platform.io\/a$/,
    );
  });
});

describe("a node's pods", () => {
  it("are those on it: it reports their status and deletes them", async () => {
    const status = { operation: "UPDATE", resource: "pods", subresource: "status" } as const;
    await allows({ ...status, object: pod("n1"), oldObject: pod("n1") });
    await refuses({ ...status, object: pod("n2"), oldObject: pod("n2") }, /can only update pod status for pods with/);
    const create = { ...status, operation: "CREATE", object: pod("n1"), oldObject: pod("n1") } as const;
    await refuses(create, /unexpected operation "CREATE"$/);
    await refuses(
      { ...status, object: pod("n1", { labels: { a: "b" } }), oldObject: pod("n1") },
      /cannot update labels/,
    );
    for (const claims of [
      { resourceClaimStatuses: [{ name: "c", resourceClaimName: "x" }] },
      { extendedResourceClaimStatus: { resourceClaimName: "x", requestMappings: [] } },
    ]) {
      const object = { ...pod("n1"), status: claims };
      await refuses({ ...status, object, oldObject: pod("n1") }, /cannot update (extended )?resource claim status/);
    }
    await allows({ operation: "DELETE", resource: "pods", name: "mine", oldObject: pod("n1") });
    await refuses(
      { operation: "DELETE", resource: "pods", name: "other", oldObject: pod("n2") },
      /can only delete pods with spec.nodeName set/,
    );
    const eviction = { resource: "pods", subresource: "eviction" } as const;
    await allows({ ...eviction, name: "mine" });
    await refuses({ ...eviction, name: "other" }, /node n1 can only evict pods with spec.nodeName set to itself$/);
    await refuses({ ...eviction, name: "gone" }, /pod "gone" not found$/);
    await refuses({ operation: "UPDATE", resource: "pods", name: "mine" }, /can only create and delete mirror pods$/);
    for (const subresource of ["binding", "ephemeralcontainers"]) {
      const other = { resource: "pods", subresource, name: "mine", object: pod("n1"), oldObject: pod("n1") };
      await refuses({ ...other, operation: "UPDATE" }, /unexpected pod subresource ".*", only 'status' and 'eviction'/);
    }
    await refuses({ ...status, operation: "CREATE", object: pod("n1") }, /unexpected operation "CREATE"$/);
    await refuses({ ...eviction, operation: "UPDATE", name: "mine" }, /unexpected operation "UPDATE"$/);
  });

  it("are created as its own mirror Pods, without references", async () => {
    const annotations = { "platform.io/config.mirror": "x" };
    const owner = { apiVersion: "v1", kind: "Node", name: "n1", uid: "nu", controller: true };
    const mirror = { annotations, ownerReferences: [owner] };
    const create = (object: ReturnType<typeof pod>) => ({ resource: "pods", name: "p", object });
    await allows(create(pod("n1", mirror)));
    await refuses(create(pod("n1")), /pod does not have "platform.io\/config.mirror" annotation/);
    await refuses(create(pod("n2", mirror)), /can only create pods with spec.nodeName set to itself$/);
    await refuses(create(pod("n1", { annotations })), /with an owner reference set to itself$/);
    for (const [ownerReferences, fault] of [
      [[{ ...owner, uid: "x" }], /UID mismatch/],
      [[owner, { ...owner, kind: "ConfigMap" }], /with a single owner reference set to itself$/],
      [[{ ...owner, kind: "ConfigMap" }], /with an owner reference set to itself$/],
      [[{ ...owner, apiVersion: "v2" }], /with an owner reference set to itself$/],
      [[{ ...owner, name: "n2" }], /with an owner reference set to itself$/],
      [[{ ...owner, controller: false }], /with a controller owner reference set to itself$/],
      [[{ ...owner, blockOwnerDeletion: true }], /must not set blockOwnerDeletion on an owner reference$/],
    ] as const) {
      await refuses(create(pod("n1", { annotations, ownerReferences })), fault);
    }
    for (const [spec, resource] of [
      [{ serviceAccountName: "bot" }, "serviceaccounts"],
      [{ volumes: [{ name: "v", secret: { secretName: "s" } }] }, "secrets"],
      [{ volumes: [mountedToken()] }, "serviceaccounts"],
      [{ containers: [{ name: "c", envFrom: [{ configMapRef: { name: "m" } }] }] }, "configmaps"],
      [{ volumes: [{ name: "v", glusterfs: { endpoints: "e", path: "p" } }] }, "endpoints"],
      [{ ephemeralContainers: [{ name: "c", envFrom: [{ secretRef: { name: "s" } }] }] }, "secrets"],
    ] as const) {
      const object = apiObject({
        metadata: { name: "p", ...mirror },
        spec: { nodeName: "n1", containers: [], ...spec },
      });
      await refuses(create(object), new RegExp(`can not create pods that reference ${resource} \\(via spec\\..*\\)$`));
    }
    const user = { ...node, username: "system:node:new" };
    const ownerReferences = [{ ...owner, name: "new" }];
    await refuses({ ...create(pod("new", { annotations, ownerReferences })), user }, /^404 nodes "new" not found$/);
    // What is wrong with the Pod itself comes first.
    await refuses({ ...create(pod("new")), user }, /^403 .* can only create mirror pods$/);
    await refuses({ ...create(pod("n1", mirror)), user }, /^403 .* with spec.nodeName set to itself$/);
    await refuses({ ...create(pod("new", mirror)), user }, /^403 .* with an owner reference set to itself$/);
  });

  it("are what it may request tokens for", async () => {
    const token = (boundObjectRef: object | null, ...audiences: string[]) => ({
      resource: "serviceaccounts",
      subresource: "token",
      object: apiObject({ spec: { boundObjectRef, audiences } }),
    });
    const bound = { apiVersion: "v1", kind: "Pod", name: "mine", uid: "pu" };
    await allows(token(bound));
    await refuses(token(null), /node requested token not bound to a pod$/);
    for (const other of [{ kind: "Node", name: "n1" }, { apiVersion: "v2" }, { name: "" }]) {
      await refuses(token({ ...bound, ...other }), /not bound to a pod$/);
    }
    await refuses(token({ ...bound, name: "gone" }), /^404 pod "gone" not found$/);
    await refuses(token({ ...bound, uid: "" }), /without a uid$/);
    await refuses(token({ ...bound, uid: "x" }), /does not match the UID in record/);
    await refuses(token({ ...bound, name: "other" }), /a pod scheduled on a different node$/);
    for (const audience of ["vault", "granted"]) await allows(token(bound, audience));
    // The server's own audience is one like the others, also where a volume asks for none.
    for (const audience of ["bank", "api"]) {
      const fault = `audience "${audience}" not found in pod spec volume, system:node:n1 is not authorized`;
      await refuses(token(bound, audience), new RegExp(fault));
    }
    await allows({ ...token(bound, "api"), name: "granted" });
    await refuses(token({ ...bound, name: "bare" }), /audience "" not found in pod spec volume/);
    await refuses(token(bound, "vault", "api"), /node may only request 0 or 1 audiences$/);
    // What a role lets it do to accounts themselves is no request for a token.
    await allows({ resource: "serviceaccounts", object: apiObject({ metadata: { name: "made" } }) });
    await allows({ operation: "DELETE", resource: "serviceaccounts", name: "made" });
  });
});

describe("a node's lease, CSINode and certificates", () => {
  const lease = { group: names.group("coordination"), resource: "leases" };
  const csiNode = { group: names.group("storage"), resource: "csinodes" };

  it("are in its own name, which a create has in its object and a delete in its path", async () => {
    for (const kind of [{ ...lease, namespace: "platform-node-lease" }, csiNode]) {
      const created = (name: string) => ({ ...kind, name: "", object: apiObject({ metadata: { name } }) });
      await allows(created("n1"));
      await refuses(created("n2"), /with the same name as the requesting node$/);
      await allows({ ...kind, operation: "DELETE", name: "n1" });
      await refuses({ ...kind, operation: "DELETE", name: "n2" }, /with the same name as the requesting node$/);
    }
  });

  it("are leases only in the namespace of the nodes' leases", async () => {
    const object = apiObject({ metadata: { name: "n1" } });
    await allows({ ...lease, operation: "UPDATE", namespace: "platform-node-lease", name: "n1", object });
    await refuses({ ...lease, namespace: "ns", name: "n1" }, /can only access leases in the "platform-node-lease"/);
  });

  it("are requested for its own name by the node signers", async () => {
    const request = readFileSync(join(import.meta.dirname, "../../../conformance/fixtures/csr-ecdsa.pem")).toString(
      "base64",
    );
    const create = (signerName: string) => ({
      group: certificates,
      resource: "certificatesigningrequests",
      object: apiObject({ spec: { signerName, request } }),
    });
    await allows(create("example.com/signer"));
    await refuses(create(signerNames.nodeAgentServing(names)), /can only create a node CSR with CN=system:node:n1$/);
    const garbage = apiObject({ spec: { signerName: signerNames.nodeAgentServing(names), request: "AAAA" } });
    await refuses({ ...create(""), object: garbage }, /^403 .*unable to parse csr: /);
    // Requests of others that a role lets it change, such as by an approval, are in other names.
    const others = create(signerNames.nodeAgentServing(names));
    await allows({ ...others, operation: "UPDATE" });
    await allows({ ...others, operation: "UPDATE", subresource: "approval" });
  });
});
