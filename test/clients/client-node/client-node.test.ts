import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { before, describe, it } from "node:test";
import {
  ApiException,
  AuthenticationV1Api,
  AuthorizationV1Api,
  CertificatesV1Api,
  CoreV1Api,
  KubeConfig,
  KubernetesObjectApi,
  PatchStrategy,
  RbacAuthorizationV1Api,
  setHeaderOptions,
} from "@kubernetes/client-node";
import type { V1CertificateSigningRequest, V1ConfigMap } from "@kubernetes/client-node";
import { kubernetesNames } from "../../../src/machinery/api/names.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { certificateRequest } from "../certificate-request.ts";
import { waitUntilSeen } from "./wait-until-seen.ts";

describe("the official JavaScript client", () => {
  let server: TestServer;
  let config: KubeConfig;
  let core: CoreV1Api;
  const namespace = "fleet";

  before(async () => {
    server = await startTestServer();
    config = new KubeConfig();
    config.loadFromFile(server.kubeconfigFile);
    core = config.makeApiClient(CoreV1Api);
    await core.createNamespace({ body: { metadata: { name: namespace } } });
  });

  const refused = (code: number, reason?: string) => (error: unknown) => {
    assert.ok(error instanceof ApiException);
    assert.equal(error.code, code);
    // The client drops the body of answers that its API description does not list.
    if (reason !== undefined) assert.equal(JSON.parse(error.body).reason, reason);
    return true;
  };

  it("creates, reads, replaces, patches, lists and deletes", async () => {
    const created = await core.createNamespacedConfigMap({
      namespace,
      body: { metadata: { name: "settings" }, data: { colour: "red" } },
    });
    assert.ok(created.metadata?.creationTimestamp instanceof Date);
    const read = await core.readNamespacedConfigMap({ namespace, name: "settings" });
    assert.deepEqual(read, created);
    const replaced = await core.replaceNamespacedConfigMap({
      namespace,
      name: "settings",
      body: { metadata: read.metadata ?? {}, data: { colour: "green" } },
    });
    assert.notEqual(replaced.metadata?.resourceVersion, read.metadata?.resourceVersion);
    const patched = await core.patchNamespacedConfigMap(
      { namespace, name: "settings", body: [{ op: "add", path: "/data/size", value: "2" }] },
      setHeaderOptions("Content-Type", PatchStrategy.JsonPatch),
    );
    assert.deepEqual(patched.data, { colour: "green", size: "2" });
    const { items } = await core.listNamespacedConfigMap({ namespace, fieldSelector: "metadata.name=settings" });
    assert.equal(items.length, 1);
    const status = await core.deleteNamespacedConfigMap({ namespace, name: "settings" });
    assert.equal(status.status, "Success");
  });

  it("merges by the rules of each patch type", async () => {
    const name = "robot";
    await core.createNamespacedServiceAccount({ namespace, body: { metadata: { name }, secrets: [{ name: "a" }] } });
    const body = { secrets: [{ name: "b" }] };
    const merged = await core.patchNamespacedServiceAccount(
      { namespace, name, body },
      setHeaderOptions("Content-Type", PatchStrategy.StrategicMergePatch),
    );
    assert.deepEqual(
      merged.secrets?.map((secret) => secret.name),
      ["b", "a"],
    );
    const replaced = await core.patchNamespacedServiceAccount(
      { namespace, name, body },
      setHeaderOptions("Content-Type", PatchStrategy.MergePatch),
    );
    assert.deepEqual(
      replaced.secrets?.map((secret) => secret.name),
      ["b"],
    );
  });

  it("applies on the server, and is told of conflicts", async () => {
    const client = KubernetesObjectApi.makeApiClient(config);
    const applied = (colour: string): V1ConfigMap => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "applied", namespace },
      data: { colour },
    });
    const apply = (colour: string, manager: string, force = false) =>
      client.patch(applied(colour), undefined, undefined, manager, force, PatchStrategy.ServerSideApply);
    const first = await apply("red", "one");
    assert.deepEqual(
      first.metadata?.managedFields?.map(({ manager, operation }) => [manager, operation]),
      [["one", "Apply"]],
    );
    await assert.rejects(apply("green", "two"), refused(409, "Conflict"));
    const forced: V1ConfigMap = await apply("green", "two", true);
    assert.deepEqual(forced.data, { colour: "green" });
  });

  it("works with objects of any kind", async () => {
    const client = KubernetesObjectApi.makeApiClient(config);
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "leader", namespace } };
    await client.create(lease);
    const read = await client.read(lease);
    assert.equal(read.kind, "Lease");
    await client.delete(lease);
    await assert.rejects(client.read(lease), refused(404, "NotFound"));
  });

  it("lists in pages", async () => {
    for (const name of ["a", "b", "c", "d", "e"])
      await core.createNamespacedServiceAccount({ namespace, body: { metadata: { name, labels: { paged: "" } } } });
    const names: (string | undefined)[] = [];
    let token: string | undefined;
    let pages = 0;
    do {
      const list = await core.listNamespacedServiceAccount({
        namespace,
        labelSelector: "paged",
        limit: 2,
        ...(token !== undefined && { _continue: token }),
      });
      names.push(...list.items.map(({ metadata }) => metadata?.name));
      token = list.metadata?._continue;
      pages += 1;
    } while (token);
    assert.deepEqual(names, ["a", "b", "c", "d", "e"]);
    assert.equal(pages, 3);
  });

  it("gets errors as Status objects", async () => {
    await assert.rejects(core.readNamespacedSecret({ namespace, name: "none" }), refused(404, "NotFound"));
    const twice = { namespace, body: { metadata: { name: "twice" } } };
    await core.createNamespacedSecret(twice);
    await assert.rejects(core.createNamespacedSecret(twice), refused(409, "AlreadyExists"));
    const wrong = { namespace, body: { metadata: { name: "Wrong_Name" } } };
    await assert.rejects(core.createNamespacedSecret(wrong), refused(422, "Invalid"));
    const old = { metadata: { name: "twice", resourceVersion: "1" } };
    await assert.rejects(
      core.replaceNamespacedSecret({ namespace, name: "twice", body: old }),
      refused(409, "Conflict"),
    );
  });

  it("issues a token that reviews and requests accept", async () => {
    const body = { metadata: { name: "worker" } };
    const account = await core.createNamespacedServiceAccount({ namespace, body });
    const { status } = await core.createNamespacedServiceAccountToken({
      name: "worker",
      namespace,
      body: { spec: { audiences: [], expirationSeconds: 600 } },
    });
    assert.ok(status?.expirationTimestamp instanceof Date);
    const { token = "" } = status;

    const review = await config.makeApiClient(AuthenticationV1Api).createTokenReview({ body: { spec: { token } } });
    assert.equal(review.status?.authenticated, true);
    assert.equal(review.status.user?.username, "system:serviceaccount:fleet:worker");
    assert.equal(review.status.user.uid, account.metadata?.uid);

    const asWorker = configWith(token);
    const self = await asWorker.makeApiClient(AuthenticationV1Api).createSelfSubjectReview({ body: {} });
    assert.equal(self.status?.userInfo?.username, "system:serviceaccount:fleet:worker");
    await assert.rejects(
      asWorker.makeApiClient(CoreV1Api).listNamespacedSecret({ namespace }),
      refused(403, "Forbidden"),
    );
    await assert.rejects(
      configWith("no.such.token").makeApiClient(CoreV1Api).listNamespacedSecret({ namespace }),
      refused(401),
    );
  });

  it("asks who may do what", async () => {
    const rbac = config.makeApiClient(RbacAuthorizationV1Api);
    await rbac.createNamespacedRole({
      namespace,
      body: { metadata: { name: "reader" }, rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }] },
    });
    await rbac.createNamespacedRoleBinding({
      namespace,
      body: {
        metadata: { name: "readers" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "ann" }],
      },
    });
    const authorization = config.makeApiClient(AuthorizationV1Api);
    const may = async (user: string, verb: string): Promise<boolean | undefined> => {
      const resourceAttributes = { namespace, resource: "secrets", verb };
      const review = await authorization.createSubjectAccessReview({ body: { spec: { user, resourceAttributes } } });
      return review.status?.allowed;
    };
    assert.equal(await may("ann", "get"), true);
    assert.equal(await may("ann", "list"), false);
    assert.equal(await may("bob", "get"), false);
    const rules = await authorization.createSelfSubjectRulesReview({ body: { spec: { namespace } } });
    assert.ok(rules.status?.resourceRules.some(({ verbs }) => verbs.includes("*")));
  });

  it("requests, approves and fetches a certificate", async () => {
    const certificates = config.makeApiClient(CertificatesV1Api);
    await certificates.createCertificateSigningRequest({
      body: certificateRequest({ name: "ann", names: kubernetesNames }),
    });
    const request = await certificates.readCertificateSigningRequest({ name: "ann" });
    request.status = { conditions: [{ type: "Approved", status: "True", reason: "Test", message: "by a test" }] };
    await certificates.replaceCertificateSigningRequestApproval({ name: "ann", body: request });
    const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    const issued = await waitUntilSeen<V1CertificateSigningRequest>(
      config,
      { path, name: "ann" },
      ({ status }) => status?.certificate !== undefined,
    );
    const certificate = new X509Certificate(Buffer.from(issued.status?.certificate ?? "", "base64"));
    assert.equal(certificate.subject, "O=staff\nCN=ann");
  });

  function configWith(token: string): KubeConfig {
    const other = new KubeConfig();
    const cluster = config.getCurrentCluster();
    assert.ok(cluster);
    other.loadFromClusterAndUser(cluster, { name: "other", token });
    return other;
  }
});
