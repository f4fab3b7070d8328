/**
 * Writes in one spelling of the API groups, and reads, watches, changes and deletes in the other, with the official
 * JavaScript client: all four ways. Needs a server that serves both. Prints a line for each way; the first thing that goes
 * wrong ends it with status 1.
 *
 *   node both-names.ts KUBECONFIG CERTIFICATE_REQUEST.pem
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import {
  ApiException,
  AuthenticationV1Api,
  CertificatesV1Api,
  CoreV1Api,
  KubeConfig,
  KubernetesObjectApi,
  PatchStrategy,
  setHeaderOptions,
  Watch,
} from "@kubernetes/client-node";
import type { KubernetesObject, V1ManagedFieldsEntry } from "@kubernetes/client-node";
import { waitUntilSeen } from "./wait-until-seen.ts";

const adminSigners = { "k8s.io": "kubernetes.io/kube-apiserver-client", "platform.io": "platform.io/apiserver-client" };
type Domain = keyof typeof adminSigners;
const domains: readonly Domain[] = ["k8s.io", "platform.io"];

/** An object as the client sends and shows it: it knows no fields of kinds that it has no type for. */
type AnyObject = KubernetesObject & { readonly spec?: unknown; readonly status?: unknown; readonly note?: string };

interface Crossing {
  readonly written: Domain;
  readonly read: Domain;
  readonly namespace: string;
  readonly config: KubeConfig;
}

const [, , kubeconfig = "", requestFile = ""] = process.argv;
const config = new KubeConfig();
config.loadFromFile(kubeconfig);
const objects = KubernetesObjectApi.makeApiClient(config);
const core = config.makeApiClient(CoreV1Api);

function lease(domain: Domain, namespace: string, { name = "lease", holder = "one" } = {}): AnyObject {
  return {
    apiVersion: `coordination.${domain}/v1`,
    kind: "Lease",
    metadata: { name, namespace },
    spec: { holderIdentity: holder },
  };
}

async function leases({ written, read, namespace }: Crossing): Promise<void> {
  const created = await objects.create(lease(written, namespace));
  assert.equal(created.apiVersion, `coordination.${written}/v1`);
  const seen: string[] = [];
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  const watch = await new Watch(config).watch(
    `/apis/coordination.${read}/v1/namespaces/${namespace}/leases`,
    { resourceVersion: "0" },
    (type, { apiVersion }: AnyObject) => {
      seen.push(`${type} ${apiVersion}`);
      if (type === "DELETED") resolve();
    },
    (error) => reject(error instanceof Error ? error : new Error("the watch ended")),
  );
  const labelled: AnyObject = { ...lease(read, namespace), metadata: { name: "lease", namespace, labels: { a: "b" } } };
  await objects.patch(labelled, undefined, undefined, undefined, undefined, PatchStrategy.MergePatch);
  assert.deepEqual((await objects.read(headerOf(written, namespace))).metadata?.labels, { a: "b" });

  const apply = (domain: Domain, manager: string, force: boolean) =>
    objects.patch(
      lease(domain, namespace, { holder: manager }),
      undefined,
      undefined,
      manager,
      force,
      PatchStrategy.ServerSideApply,
    );
  await apply(written, "a", true);
  await assert.rejects(
    apply(read, "b", false),
    (error: unknown) => error instanceof ApiException && error.code === 409,
  );
  const { metadata } = await apply(read, "b", true);
  const ownsHolder = ({ fieldsV1 }: V1ManagedFieldsEntry) => JSON.stringify(fieldsV1).includes("f:holderIdentity");
  assert.deepEqual(
    metadata?.managedFields?.filter(ownsHolder).map(({ manager }) => manager),
    ["b"],
  );
  await objects.delete(headerOf(read, namespace));
  await ended.finally(() => watch.abort());
  const version = `coordination.${read}/v1`;
  assert.deepEqual([seen[0], seen[1], seen.at(-1)], [`ADDED ${version}`, `MODIFIED ${version}`, `DELETED ${version}`]);
}

function headerOf(domain: Domain, namespace: string, name = "lease") {
  return { apiVersion: `coordination.${domain}/v1`, kind: "Lease", metadata: { name, namespace } };
}

async function owners({ written, read, namespace }: Crossing): Promise<void> {
  const { metadata } = await objects.create(lease(written, namespace, { name: "owner" }));
  const owner = {
    apiVersion: `coordination.${read}/v1`,
    kind: "Lease",
    name: "owner",
    uid: String(metadata?.uid),
  };
  await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: "owned", ownerReferences: [owner] } } });
  const { promise: collected, resolve, reject } = Promise.withResolvers<void>();
  const watch = await new Watch(config).watch(
    `/api/v1/namespaces/${namespace}/configmaps`,
    { fieldSelector: "metadata.name=owned", resourceVersion: "0" },
    (type) => type === "DELETED" && resolve(),
    (error) => reject(error instanceof Error ? error : new Error("the watch ended")),
  );
  await objects.delete(headerOf(written, namespace, "owner"));
  await collected.finally(() => watch.abort());
}

async function rolesAndReviews({ written, read, namespace }: Crossing): Promise<void> {
  const access = "rbac.authorization";
  const role = {
    apiVersion: `${access}.${written}/v1`,
    kind: "Role",
    metadata: { name: "reader", namespace },
    rules: [{ apiGroups: [`coordination.${read}`], resources: ["leases"], verbs: ["list"] }],
  };
  const binding = {
    apiVersion: `${access}.${read}/v1`,
    kind: "RoleBinding",
    metadata: { name: "robot-reads", namespace },
    roleRef: { apiGroup: `${access}.${written}`, kind: "Role", name: "reader" },
    subjects: [{ kind: "ServiceAccount", name: "robot", namespace }],
  };
  for (const object of [role, binding]) await objects.create(object);
  await core.createNamespacedServiceAccount({ namespace, body: { metadata: { name: "robot" } } });
  const body = { spec: { audiences: [] } };
  const { status } = await core.createNamespacedServiceAccountToken({ namespace, name: "robot", body });
  const token = String(status?.token);
  const review = await config.makeApiClient(AuthenticationV1Api).createTokenReview({ body: { spec: { token } } });
  assert.equal(review.status?.user?.username, `system:serviceaccount:${namespace}:robot`);

  const ofRobot = new KubeConfig();
  const cluster = config.getCurrentCluster();
  assert.ok(cluster !== null);
  ofRobot.loadFromClusterAndUser(cluster, { name: "robot", token });
  const asRobot = KubernetesObjectApi.makeApiClient(ofRobot);
  for (const domain of [written, read]) {
    await asRobot.list(`coordination.${domain}/v1`, "Lease", namespace);
    await assert.rejects(
      asRobot.list(`${access}.${domain}/v1`, "Role", namespace),
      (error: unknown) => error instanceof ApiException && error.code === 403,
    );
  }
}

async function certificates({ written, read, namespace }: Crossing, request: string): Promise<void> {
  const header = (domain: Domain) => ({
    apiVersion: `certificates.${domain}/v1`,
    kind: "CertificateSigningRequest",
    metadata: { name: namespace },
  });
  const spec = { request, signerName: adminSigners[read], usages: ["client auth"] };
  await objects.create<AnyObject>({ ...header(written), spec });
  const conditions = [{ type: "Approved", status: "True", reason: "Test", message: "by a test" }];
  // The client's call for the subresource is one of upstream's group.
  await config
    .makeApiClient(CertificatesV1Api)
    .patchCertificateSigningRequestApproval(
      { name: namespace, body: { status: { conditions } } },
      setHeaderOptions("Content-Type", PatchStrategy.MergePatch),
    );
  const path = `/apis/certificates.${written}/v1/certificatesigningrequests`;
  const issued = await waitUntilSeen<AnyObject & { status?: { certificate?: string } }>(
    config,
    { path, name: namespace },
    ({ status }) => status?.certificate !== undefined,
  );
  assert.match(Buffer.from(issued.status?.certificate ?? "", "base64").toString(), /^-----BEGIN CERTIFICATE-----/);
  await objects.delete(header(read));
}

async function events({ written, read, namespace }: Crossing): Promise<void> {
  await objects.create<AnyObject>({
    apiVersion: `events.${written}/v1`,
    kind: "Event",
    metadata: { name: "tried", namespace },
    ...{
      eventTime: "2026-01-01T00:00:00.000000Z",
      regarding: { kind: "Namespace", name: namespace, namespace },
      reportingController: "example.com/test",
      reportingInstance: "test-1",
      action: "Try",
      reason: "Tried",
      type: "Normal",
      note: "It was tried.",
    },
  });
  const metadata = { name: "tried", namespace };
  const event = await objects.read<AnyObject>({ apiVersion: `events.${read}/v1`, kind: "Event", metadata });
  assert.equal(event.note, "It was tried.");
  const ofCore = await core.readNamespacedEvent({ namespace, name: "tried" });
  assert.equal(ofCore.message, "It was tried.");
}

for (const written of domains) {
  for (const read of domains) {
    const namespace = `javascript-${written}-${read}`.replaceAll(".", "-");
    await core.createNamespace({ body: { metadata: { name: namespace } } });
    const crossing: Crossing = { written, read, namespace, config };
    await leases(crossing);
    await owners(crossing);
    await rolesAndReviews(crossing);
    await certificates(crossing, readFileSync(requestFile).toString("base64"));
    await events(crossing);
    await core.deleteNamespace({ name: namespace });
    console.log(`ok: written as ${written}, read as ${read}`);
  }
}
