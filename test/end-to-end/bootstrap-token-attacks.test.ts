import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { platformNames as names } from "../../src/machinery/api/names.ts";
import { signingRequest } from "../../src/agent/certificates/request-certificate.ts";
import { wantedClientCertificate } from "../../src/agent/certificates/wanted-certificate.ts";
import { bootstrapGroup, permitNodeBootstrap } from "../../src/features/nodes/bootstrap/bootstrap-permissions.ts";
import { newBootstrapToken } from "../../src/features/nodes/bootstrap/bootstrap-token-secret.ts";
import { httpsTransport } from "../../src/machinery/client/https/https-transport.ts";
import { readText } from "../../src/machinery/client/transport.ts";
import type { Transport } from "../../src/machinery/client/transport.ts";
import { createCertificateRequestPem } from "../../src/pki/requests/create-certificate-request.ts";
import { encodePrivateKeyPem, generatePrivateKey } from "../../src/pki/keys/keys.ts";
import { noSubjectAltNames } from "../../src/pki/names/subject-alt-names.ts";
import { startTestServer } from "../test-server.ts";
import type { TestServer } from "../test-server.ts";
import { eventually } from "./eventually.ts";
import { signerNames } from "../../src/features/certificates/signer-names.ts";

const certificates = `/apis/${names.group("certificates")}/v1/certificatesigningrequests`;
const rbac = `/apis/${names.group("rbac.authorization")}/v1`;
const rbacVersion = `${names.group("rbac.authorization")}/v1`;
const core = "/api/v1/namespaces";
const system = names.namespaces.system;
const mergePatch = "application/merge-patch+json";

interface Attempt {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Somebody with a credential. */
class Actor {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async send({
    method,
    path,
    body,
    headers = {},
  }: Attempt): Promise<{ readonly status: number; readonly text: string }> {
    const [target = "", query] = path.split("?");
    const answer = await this.#transport.send({
      method,
      path: target,
      ...(query !== undefined && { query }),
      headers: { ...(body !== undefined && { "content-type": "application/json" }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, text: await readText(answer.body) };
  }

  /** The answer of a request that must succeed. */
  async done<T = { metadata: { uid: string } }>(attempt: Attempt): Promise<T> {
    const { status, text } = await this.send(attempt);
    assert.ok(status < 300, `${attempt.method} ${attempt.path}: ${status} ${text}`);
    return JSON.parse(text) as T;
  }

  async isRefused(attempt: Attempt): Promise<void> {
    const { status, text } = await this.send(attempt);
    const shown = `${attempt.method} ${attempt.path} ${JSON.stringify(attempt.body)}: ${status} ${text}`;
    assert.ok(status === 403 || status === 422 || status === 404, shown);
  }

  close(): void {
    this.#transport.close();
  }
}

const objectOf = (kind: string, name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind,
  metadata: { name },
  ...more,
});
const requestNamed = (name: string, spec: object) => ({
  ...objectOf("CertificateSigningRequest", name, { spec }),
  apiVersion: `${names.group("certificates")}/v1`,
});
const impersonating = (user: string, group: string) => ({ "impersonate-user": user, "impersonate-group": group });

describe("the holder of a bootstrap token, who becomes a node", () => {
  let server: TestServer;
  let admin: Actor;
  let bootstrap: Actor;
  let node: Actor;
  let nodeUid = "";
  let podUid = "";
  before(async () => {
    server = await startTestServer();
    const credentials = { server: server.url, caCertificates: server.caCertificates };
    admin = new Actor(httpsTransport({ ...credentials, bearerToken: () => server.adminToken }));
    await permitNodeBootstrap({ client: server.client, names });
    const wanted = { groups: [bootstrapGroup], expiresAt: undefined, description: undefined };
    const { token, secret } = newBootstrapToken(names, wanted);
    await admin.done({ method: "POST", path: `${core}/${system}/secrets`, body: secret });
    bootstrap = new Actor(httpsTransport({ ...credentials, bearerToken: () => token }));

    // What there is to win: an account that may do everything, its token in a Secret, and its Pod on another node.
    await admin.done({
      method: "POST",
      path: `${core}/${system}/serviceaccounts`,
      body: objectOf("ServiceAccount", "root"),
    });
    const loot = { type: "Opaque", data: { token: "c2VjcmV0" } };
    await admin.done({ method: "POST", path: `${core}/${system}/secrets`, body: objectOf("Secret", "loot", loot) });
    const spec = { nodeName: "other", serviceAccountName: "root", containers: [{ name: "c", image: "i" }] };
    const pod = await admin.done({
      method: "POST",
      path: `${core}/${system}/pods`,
      body: objectOf("Pod", "root", { spec }),
    });
    podUid = pod.metadata.uid;

    const privateKey = generatePrivateKey("ECDSA P-256");
    const { metadata, spec: requested } = signingRequest({
      requestPrefix: "node-csr-",
      wanted: wantedClientCertificate(names, "evil"),
      privateKey,
      lifetimeSeconds: undefined,
    });
    const { name = "" } = metadata;
    await bootstrap.done({ method: "POST", path: certificates, body: requestNamed(name, requested) });
    const certificate = await eventually("the node's certificate", async () => {
      const path = `${certificates}/${name}`;
      return (await admin.done<{ status: { certificate?: string } }>({ method: "GET", path })).status.certificate;
    });
    const clientCertificate = {
      certificate: Buffer.from(certificate, "base64").toString(),
      key: encodePrivateKeyPem(privateKey),
    };
    node = new Actor(httpsTransport({ ...credentials, clientCertificate }));
    nodeUid = (await node.done({ method: "POST", path: "/api/v1/nodes", body: objectOf("Node", "evil") })).metadata.uid;
  });
  after(async () => {
    for (const actor of [admin, bootstrap, node]) actor.close();
    await server.stop();
  });

  const everyActor = (): Actor[] => [bootstrap, node];

  it("cannot read Secrets of others, by get, list or watch", async () => {
    for (const actor of everyActor()) {
      for (const path of [
        `${core}/${system}/secrets/loot`,
        `${core}/${system}/secrets`,
        `${core}/${system}/secrets?fieldSelector=metadata.name%3Dloot`,
        `${core}/${system}/secrets?watch=true`,
        "/api/v1/secrets",
        `${core}/${system}/pods/root`,
      ]) {
        await actor.isRefused({ method: "GET", path });
      }
    }
  });

  it("cannot write permissions, nor impersonate", async () => {
    const roleRef = { apiGroup: names.group("rbac.authorization"), kind: "ClusterRole", name: "cluster-admin" };
    const subjects = [{ kind: "Group", apiGroup: roleRef.apiGroup, name: "system:nodes" }];
    const binding = { ...objectOf("ClusterRoleBinding", "mine", { roleRef, subjects }), apiVersion: rbacVersion };
    for (const actor of everyActor()) {
      await actor.isRefused({ method: "POST", path: `${rbac}/clusterrolebindings`, body: binding });
      await actor.isRefused({
        method: "PATCH",
        path: `${rbac}/clusterrolebindings/cluster-admin`,
        body: { subjects },
        headers: { "content-type": mergePatch },
      });
      for (const [user, group] of [
        ["admin", "system:masters"],
        ["system:node:other", "system:nodes"],
      ] as const) {
        await actor.isRefused({
          method: "GET",
          path: `${core}/${system}/secrets/loot`,
          headers: impersonating(user, group),
        });
      }
    }
  });

  it("gets no certificate in another name, and cannot approve one", async () => {
    const requested = async (actor: Actor, { commonName, organization, signerName }: Record<string, string>) => {
      const subject = { commonName: commonName ?? "", organizations: [organization ?? ""] };
      const privateKey = generatePrivateKey("ECDSA P-256");
      const pem = createCertificateRequestPem({ privateKey, subject, subjectAltNames: noSubjectAltNames });
      const name = `attack-${subject.commonName.replaceAll(":", "-")}-${subject.organizations[0]?.replace(":", "-")}`;
      const spec = {
        request: Buffer.from(pem).toString("base64"),
        signerName,
        usages: ["digital signature", "client auth"],
      };
      const answer = await actor.send({ method: "POST", path: certificates, body: requestNamed(name, spec) });
      if (answer.status === 201) {
        const status = { conditions: [{ type: "Approved", status: "True", reason: "Me" }] };
        const headers = { "content-type": mergePatch };
        for (const subresource of ["approval", "status"]) {
          await actor.isRefused({
            method: "PATCH",
            path: `${certificates}/${name}/${subresource}`,
            body: { status },
            headers,
          });
        }
      }
      return answer.status;
    };
    const apiserverClient = signerNames.apiserverClient(names);
    const apiserverClientNodeAgent = signerNames.apiserverClientNodeAgent(names);
    const masters = { commonName: "me", organization: "system:masters" };
    for (const actor of everyActor()) {
      assert.equal(await requested(actor, { ...masters, signerName: apiserverClient }), 403);
      await requested(actor, { commonName: "admin", organization: "any", signerName: apiserverClient });
      await requested(actor, { ...masters, signerName: apiserverClientNodeAgent });
    }
    const asOther = { commonName: "system:node:other", organization: "system:nodes" };
    assert.equal(await requested(node, { ...asOther, signerName: apiserverClientNodeAgent }), 403);
    const { items } = await admin.done<{
      items: { metadata: { name: string }; status: { certificate?: string; conditions?: { type: string }[] } }[];
    }>({ method: "GET", path: certificates });
    const attacks = items.filter(({ metadata }) => metadata.name.startsWith("attack-"));
    assert.ok(attacks.length > 0);
    for (const { status } of attacks) {
      assert.equal(status.certificate, undefined);
      assert.ok((status.conditions ?? []).every(({ type }) => type !== "Approved"));
    }
  });

  it("gets no token of any account", async () => {
    const path = `${core}/${system}/serviceaccounts/root/token`;
    const group = `${names.group("authentication")}/v1`;
    const pod = { apiVersion: "v1", kind: "Pod", name: "root", uid: podUid };
    for (const actor of everyActor()) {
      for (const boundObjectRef of [
        undefined,
        pod,
        { ...pod, uid: "" },
        { apiVersion: "v1", kind: "Secret", name: "loot" },
        { apiVersion: "v1", kind: "Node", name: "evil", uid: nodeUid },
      ]) {
        const spec = { audiences: [], expirationSeconds: 2 ** 32, ...(boundObjectRef && { boundObjectRef }) };
        const body = { apiVersion: group, kind: "TokenRequest", spec };
        for (const dryRun of ["", "?dryRun=All"]) {
          await actor.isRefused({ method: "POST", path: `${path}${dryRun}`, body });
          const own = `${core}/default/serviceaccounts/default/token${dryRun}`;
          await actor.isRefused({ method: "POST", path: own, body });
        }
      }
    }
  });

  it("gains no access through any Pod that it can write", async () => {
    const annotations = { [names.key("config.mirror")]: "x" };
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name: "evil", uid: nodeUid, controller: true }];
    const container = { name: "c", image: "i" };
    const envFrom = [{ secretRef: { name: "loot" } }];
    const specs: readonly object[] = [
      { serviceAccountName: "root" },
      { ephemeralContainers: [{ ...container, name: "e", envFrom }] },
      { initContainers: [{ ...container, name: "i", envFrom }] },
      { containers: [{ ...container, envFrom }] },
      { imagePullSecrets: [{ name: "loot" }] },
      { volumes: [{ name: "v", azureFile: { secretName: "loot", shareName: "s" } }] },
      { volumes: [{ name: "v", projected: { sources: [{ secret: { name: "loot" } }] } }] },
      { volumes: [{ name: "v", csi: { driver: "d", nodePublishSecretRef: { name: "loot" } } }] },
    ];
    const pods = `${core}/${system}/pods`;
    for (const spec of specs) {
      const complete = { nodeName: "evil", containers: [container], ...spec };
      const body = {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "p", annotations, ownerReferences },
        spec: complete,
      };
      for (const actor of everyActor()) {
        await actor.isRefused({ method: "POST", path: pods, body });
        await actor.isRefused({ method: "PUT", path: `${pods}/p`, body });
        await actor.isRefused({
          method: "PATCH",
          path: `${pods}/p?fieldManager=m`,
          body,
          headers: { "content-type": "application/apply-patch+yaml" },
        });
      }
    }
    const plain = { nodeName: "evil", containers: [container] };
    const mirror = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p", annotations, ownerReferences },
      spec: plain,
    };
    await node.done({ method: "POST", path: pods, body: mirror });
    const headers = { "content-type": mergePatch };
    const withSecret = { spec: { containers: [{ ...container, envFrom }] }, metadata: { annotations: null } };
    await node.isRefused({ method: "PATCH", path: `${pods}/p`, body: withSecret, headers });
    await node.isRefused({ method: "PATCH", path: `${pods}/p/status`, body: withSecret, headers });
    await node.isRefused({
      method: "PATCH",
      path: `${pods}/root/status`,
      body: { status: { phase: "Failed" } },
      headers,
    });
    await node.isRefused({ method: "GET", path: `${core}/${system}/secrets/loot` });
    await node.isRefused({ method: "GET", path: `${core}/${system}/serviceaccounts/root` });
  });

  it("cannot have its Node deleted, changed into another, or created again by an owner", async () => {
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "gone", uid: "gone" }];
    const headers = { "content-type": mergePatch };
    for (const path of ["/api/v1/nodes/evil", "/api/v1/nodes/evil/status"]) {
      await node.isRefused({ method: "PATCH", path, body: { metadata: { ownerReferences } }, headers });
    }
    await node.isRefused({ method: "DELETE", path: "/api/v1/nodes/evil" });
    await node.isRefused({ method: "DELETE", path: "/api/v1/nodes" });
    await node.isRefused({ method: "POST", path: "/api/v1/nodes", body: objectOf("Node", "second") });
    const owned = { apiVersion: "v1", kind: "Node", metadata: { name: "evil", ownerReferences } };
    await admin.done({ method: "DELETE", path: "/api/v1/nodes/evil" });
    await node.isRefused({ method: "POST", path: "/api/v1/nodes", body: owned });
  });
});
