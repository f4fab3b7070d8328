import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { signingRequest } from "../../../src/agent/certificates/request-certificate.ts";
import {
  wantedClientCertificate,
  wantedServingCertificate,
} from "../../../src/agent/certificates/wanted-certificate.ts";
import { ApiError } from "../../../src/machinery/api/api-error.ts";
import { platformNames as names } from "../../../src/machinery/api/names.ts";
import type { AdmissionAttributes, AdmissionRule } from "../../../src/machinery/api/attributes.ts";
import type { ApiObject } from "../../../src/machinery/api/object-meta.ts";
import type { ResourceType } from "../../../src/machinery/api/resource-type.ts";
import type { ApiClient } from "../../../src/machinery/client/api-client.ts";
import { resourceReferences } from "../../resource-references.ts";
import { generatePrivateKey } from "../../../src/pki/keys/keys.ts";
import type { Lease } from "../../../src/features/core/leases.ts";
import type { Node } from "../../../src/features/nodes/nodes/node-schema.ts";
import type { Pod } from "../../../src/features/nodes/pods/schema/pod-schema.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { nodeClient } from "./node-client.ts";

const references = resourceReferences(names);
const nodeLease = names.namespaces.nodeLease;
let server: TestServer;
let nodeA: ApiClient;
/** What a test does between the rules and the write. */
let beforeWrite: (attributes: AdmissionAttributes) => Promise<void> | void = () => {};

/** What a client may leave out, the types of objects have. */
const sparse = (object: object): never => object as never; // the server fills in the rest, or refuses

const selfSubjectAccessReviews: ResourceType<ApiObject & { readonly status: { readonly allowed: boolean } }> = {
  group: names.group("authorization"),
  version: "v1",
  plural: "selfsubjectaccessreviews",
  kind: "SelfSubjectAccessReview",
  scope: "Cluster",
};

const podOf = (node: string): Pod =>
  sparse({
    metadata: { name: `pod-of-${node}`, namespace: "default" },
    spec: {
      nodeName: node,
      serviceAccountName: `account-of-${node}`,
      containers: [{ name: "c", image: "i", envFrom: [{ secretRef: { name: `secret-of-${node}` } }] }],
    },
  });

before(async () => {
  const hook: AdmissionRule = { name: "Hook", validate: (attributes) => beforeWrite(attributes) };
  server = await startTestServer({ admission: [hook] });
  const { client } = server;
  nodeA = nodeClient(server, "a");
  for (const node of ["a", "b"]) {
    const own = nodeClient(server, node);
    await own.resource(references.nodes).create(nodeNamed(node));
    await own.resource(references.leases, nodeLease).create(leaseNamed(node));
    const account = { metadata: { name: `account-of-${node}`, namespace: "default" } };
    await client.resource(references.serviceAccounts, "default").create(sparse(account));
    const secret = { metadata: { name: `secret-of-${node}`, namespace: "default" }, type: "Opaque" };
    await client.resource(references.secrets, "default").create(sparse(secret));
    await client.resource(references.pods, "default").create(podOf(node));
  }
});

const nodeNamed = (name: string): Node => sparse({ metadata: { name } });
const leaseNamed = (name: string, namespace = nodeLease): Lease => sparse({ metadata: { name, namespace } });

const refused = (operation: Promise<unknown>): Promise<void> =>
  assert.rejects(operation, (error) => error instanceof ApiError && error.code === 403);

describe("a node", () => {
  it("reads and writes only its own Node", async () => {
    const nodes = nodeA.resource(references.nodes);
    assert.equal((await nodes.get("a")).metadata.name, "a");
    await nodes.patch("a", { body: { status: { phase: "x" } }, subresource: "status" });
    await refused(nodes.get("b"));
    await refused(nodes.list());
    await refused(nodes.patch("b", { body: { status: { phase: "x" } }, subresource: "status" }));
    await refused(nodes.create(nodeNamed("c")));
    await refused(nodes.create(sparse({ metadata: { generateName: "a" } })));
    await refused(nodes.delete("a"));
    await refused(nodes.patch("a", { body: { spec: { taints: [{ key: "k", effect: "NoSchedule" }] } } }));
    const role = { "node-restriction.platform.io/role": "vault" };
    await refused(nodes.patch("a", { body: { metadata: { labels: role } } }));
  });

  it("renews only its own Lease", async () => {
    const leases = nodeA.resource(references.leases, nodeLease);
    await leases.patch("a", { body: { spec: { holderIdentity: "a" } } });
    await refused(leases.get("b"));
    await refused(leases.patch("b", { body: { spec: { holderIdentity: "a" } } }));
    await refused(leases.delete("b"));
    await refused(leases.create(leaseNamed("c")));
    await refused(nodeA.resource(references.leases, "default").create(leaseNamed("a", "default")));
  });

  it("lists and deletes only the Pods on itself", async () => {
    const pods = nodeA.resource(references.pods, "default");
    assert.equal((await pods.get("pod-of-a")).metadata.name, "pod-of-a");
    await refused(pods.get("pod-of-b"));
    await refused(pods.list());
    await refused(pods.delete("pod-of-b"));
    await refused(pods.patch("pod-of-b", { body: { status: { phase: "Failed" } }, subresource: "status" }));
    await refused(pods.create({ ...podOf("b"), metadata: { name: "planted", namespace: "default" } }));
  });

  it("does not delete another node's Pod that took the name during the deletion", async () => {
    const pods = server.client.resource(references.pods, "default");
    const podOn = (node: string): Pod => ({ ...podOf(node), metadata: { name: "moving", namespace: "default" } });
    const deleteAtOnce = (client: ApiClient): Promise<unknown> =>
      client.request("/api/v1/namespaces/default/pods/moving", { method: "DELETE", query: "gracePeriodSeconds=0" });
    await pods.create(podOn("a"));
    beforeWrite = async ({ operation, name }) => {
      if (operation !== "DELETE" || name !== "moving") return;
      beforeWrite = () => {};
      await deleteAtOnce(server.client);
      await pods.create(podOn("b"));
    };
    await refused(deleteAtOnce(nodeA));
    const { metadata, spec } = await pods.get("moving");
    assert.deepEqual([spec.nodeName, metadata.deletionTimestamp], ["b", undefined]);
  });

  it("is authorized by the selector that the list uses, including commas in values", async () => {
    const pods = nodeA.resource(references.pods, "");
    const { items } = await pods.list({ fieldSelector: "spec.nodeName=a,status.phase!=x" });
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ["pod-of-a"],
    );
    for (const fieldSelector of [
      "metadata.name!=x\\,spec.nodeName=a",
      "metadata.name!=x\\,spec.nodeName\\=a",
      "metadata.name\\,spec.nodeName=a",
    ]) {
      await refused(pods.list({ fieldSelector }));
    }
    const { items: ofBoth } = await pods.list({ fieldSelector: "spec.nodeName=b,spec.nodeName=a" });
    assert.deepEqual(ofBoth, [], "no Pod is on two nodes");
    const review = async (key: string, value: string): Promise<unknown> => {
      const requirements = [{ key, operator: "In", values: [value] }];
      const resourceAttributes = { verb: "list", version: "v1", resource: "pods", fieldSelector: { requirements } };
      const { status } = await nodeA
        .resource(selfSubjectAccessReviews)
        .create(sparse({ spec: { resourceAttributes } }));
      return status.allowed;
    };
    assert.equal(await review("spec.nodeName", "a"), true);
    assert.equal(await review("metadata.name", "x,spec.nodeName=a"), false);
  });

  it("reads only the Secrets of Pods on itself", async () => {
    const secrets = nodeA.resource(references.secrets, "default");
    assert.equal((await secrets.get("secret-of-a")).metadata.name, "secret-of-a");
    await refused(secrets.get("secret-of-b"));
    await refused(secrets.list());
    await refused(secrets.patch("secret-of-a", { body: { data: {} } }));
    await refused(nodeA.resource(references.secrets, names.namespaces.system).get("bootstrap-token-abcdef"));
  });

  it("gets tokens only for Pods on itself", async () => {
    const pods = server.client.resource(references.pods, "default");
    const accounts = nodeA.resource(references.serviceAccounts, "default");
    const tokenFor = async (account: string, pod: string): Promise<unknown> => {
      const { uid } = (await pods.get(pod)).metadata;
      return accounts.createSubresource(account, {
        subresource: "token",
        object: {
          apiVersion: "authentication.platform.io/v1",
          kind: "TokenRequest",
          metadata: {},
          spec: { audiences: [], boundObjectRef: { apiVersion: "v1", kind: "Pod", name: pod, uid } },
        } as ApiObject,
      });
    };
    await tokenFor("account-of-a", "pod-of-a");
    await refused(tokenFor("account-of-b", "pod-of-b"));
    await refused(tokenFor("account-of-b", "pod-of-a"));
  });

  it("requests certificates only in its own name", async () => {
    const requests = nodeA.resource(references.certificateSigningRequests);
    const machine = { dnsNames: ["b"], ipAddresses: [] };
    const requestFor = (nodeName: string, isServing = false) =>
      signingRequest({
        wanted: isServing
          ? wantedServingCertificate(names, { nodeName, ...machine })
          : wantedClientCertificate(names, nodeName),
        requestPrefix: "node-csr-",
        privateKey: generatePrivateKey("ECDSA P-256"),
        lifetimeSeconds: undefined,
      });
    const { metadata } = await requests.create(requestFor("a"));
    await requests.create(requestFor("a", true));
    await refused(requests.create(requestFor("b")));
    await refused(requests.create(requestFor("b", true)));
    const name = metadata.name ?? "";
    const condition = { type: "Approved", status: "True", reason: "Mine", message: "" };
    await refused(requests.patch(name, { body: { status: { conditions: [condition] } }, subresource: "approval" }));
    await refused(requests.patch(name, { body: { status: { certificate: "LS0=" } }, subresource: "status" }));
    await refused(requests.delete(name));
  });

  it("may not publish trust anchors, or create bootstrap tokens or roles", async () => {
    const bundles = nodeA.resource(references.clusterTrustBundles);
    await bundles.list();
    await refused(bundles.delete("any"));
    await refused(nodeA.resource(references.secrets, names.namespaces.system).create(sparse({ metadata: {} })));
    await refused(nodeA.resource(references.clusterRoles).create(sparse({ metadata: { name: "x" } })));
  });
});
