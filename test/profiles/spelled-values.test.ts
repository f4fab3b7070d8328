import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { kubernetesNames, namesFor, platformNames } from "../../src/machinery/api/names.ts";
import type { Names } from "../../src/machinery/api/names.ts";
import type { ApiObject } from "../../src/machinery/api/object-meta.ts";
import type { ResourceType } from "../../src/machinery/api/resource-type.ts";
import { createCertificateRequestPem } from "../../src/pki/requests/create-certificate-request.ts";
import { generatePrivateKey } from "../../src/pki/keys/keys.ts";
import { noSubjectAltNames } from "../../src/pki/names/subject-alt-names.ts";
import { certificateSigningRequestResource, signerNames } from "../../src/features/certificates/resources.ts";
import { configMapResource, secretResource } from "../../src/features/core/resources.ts";
import { startTestServer } from "../test-server.ts";
import { waitForObject } from "../wait-for-object.ts";
import { ApiRequester } from "./api-request.ts";
import type { ApiRequest } from "./api-request.ts";

const both = [platformNames, kubernetesNames] as const;
const own = namesFor("platform", { hasUpstreamNames: true });
const anchors = readFileSync(new URL("../conformance/fixtures/ca1.pem", import.meta.url), "utf8");
const applied = { "content-type": "application/apply-patch+yaml" };
const merge = { "content-type": "application/merge-patch+json" };

/** Every pair of spellings: the first of the rule or the first writer, the second of what is compared with it. */
const pairs = both.flatMap((one) => both.map((other) => [one, other] as const));

describe("on a server with both spellings", () => {
  let api: ApiRequester;
  before(async () => {
    api = await ApiRequester.toNewServer();
  });
  after(() => api.stop());

  let count = 0;
  const newName = (): string => `n${++count}`;

  async function expect(status: number, sent: ApiRequest) {
    const answer = await api.send(sent);
    assert.equal(answer.status, status, `${sent.method} ${sent.path}: ${answer.bytes.toString()}`);
    return answer.json();
  }
  const rbac = (names: Names, plural: string): string => `/apis/${names.group("rbac.authorization")}/v1/${plural}`;
  const csrs = (names: Names): string => `/apis/${names.group("certificates")}/v1/certificatesigningrequests`;
  const bundles = (names: Names): string => `/apis/${names.group("certificates")}/v1/clustertrustbundles`;
  const eventually = <T extends ApiObject>(
    type: ResourceType<T>,
    where: { readonly namespace?: string; readonly name: string },
    isAsWanted: (object: T | undefined) => boolean,
  ): Promise<T | undefined> => waitForObject(api.server.client, type, where, isAsWanted);

  /** A user who has these rules, and the headers of a request as this user. */
  async function userWith(rules: readonly object[], names: Names = platformNames) {
    const name = newName();
    await expect(201, { method: "POST", path: rbac(names, "clusterroles"), body: { metadata: { name }, rules } });
    const apiGroup = names.group("rbac.authorization");
    const body = {
      metadata: { name },
      roleRef: { apiGroup, kind: "ClusterRole", name },
      subjects: [{ apiGroup, kind: "User", name }],
    };
    await expect(201, { method: "POST", path: rbac(names, "clusterrolebindings"), body });
    return { "impersonate-user": name };
  }

  const requestFor = (signerName: string, subject: { commonName: string; organizations?: string[] }) => ({
    metadata: { name: newName() },
    spec: {
      signerName,
      usages: ["client auth"],
      request: Buffer.from(
        createCertificateRequestPem({
          privateKey: generatePrivateKey("ECDSA P-256"),
          subject: { organizations: [], ...subject },
          subjectAltNames: noSubjectAltNames,
        }),
      ).toString("base64"),
    },
  });
  const approved = { status: { conditions: [{ type: "Approved", status: "True" }] } };

  for (const [granted, asked] of pairs) {
    const title = `${granted.profile}'s spelling of a right is good for ${asked.profile}'s of a`;

    it(`${title} signer: to approve, and the request is signed`, async () => {
      const [signer, askedSigner] = [signerNames.apiserverClient(granted), signerNames.apiserverClient(asked)];
      const ruleGroup = granted.group("certificates");
      const update = {
        verbs: ["update", "patch"],
        apiGroups: [ruleGroup],
        resources: ["certificatesigningrequests/approval"],
      };
      const approve = (names: readonly string[]) => ({
        verbs: ["approve"],
        apiGroups: [ruleGroup],
        resources: ["signers"],
        resourceNames: names,
      });
      const allowed = [
        await userWith([update, approve([signer])]),
        await userWith([update, approve([`${granted.domain}/*`])]),
      ];
      const refused = [
        await userWith([update]),
        await userWith([update, approve([signerNames.nodeAgentServing(granted), "example.com/*"])]),
      ];
      for (const headers of allowed) {
        const body = requestFor(askedSigner, { commonName: "ann" });
        const { name } = body.metadata;
        const created = await expect(201, { method: "POST", path: csrs(asked), body });
        assert.equal(created.spec.signerName, askedSigner, "as it was written");
        const path = `${csrs(asked)}/${name}/approval`;
        for (const nobody of refused) {
          await expect(403, { method: "PATCH", path, headers: { ...merge, ...nobody }, body: approved });
        }
        await expect(200, { method: "PATCH", path, headers: { ...merge, ...headers }, body: approved });
        await eventually(
          certificateSigningRequestResource(own),
          { name },
          (one) => one?.status.certificate !== undefined,
        );
      }
    });

    it(`${title} signer: to sign, and to attest its bundles`, async () => {
      const group = granted.group("certificates");
      const legacy = signerNames.nodeAgentServing(granted);
      const right = (verb: string, resourceNames: string[]) => ({
        verbs: [verb],
        apiGroups: [group],
        resources: ["signers"],
        resourceNames,
      });
      const write = {
        verbs: ["*"],
        apiGroups: [group],
        resources: ["clustertrustbundles", "certificatesigningrequests/status"],
      };
      const allowed = await userWith([write, right("attest", [legacy]), right("sign", [legacy])]);
      const refused = await userWith([write, right("sign", ["example.com/x"]), right("approve", [legacy])]);
      const signerName = signerNames.nodeAgentServing(asked);
      const bundle = () => ({
        metadata: { name: `${signerName.replace("/", ":")}:${newName()}` },
        spec: { signerName, trustBundle: anchors },
      });
      await expect(403, { method: "POST", path: bundles(asked), headers: refused, body: bundle() });
      const made = await expect(201, { method: "POST", path: bundles(asked), headers: allowed, body: bundle() });
      assert.equal(made.spec.signerName, signerName);
      const body = requestFor(signerName, { commonName: "system:node:n", organizations: ["system:nodes"] });
      await expect(201, { method: "POST", path: csrs(asked), body });
      const path = `${csrs(asked)}/${body.metadata.name}/status`;
      const failed = { status: { conditions: [{ type: "Failed", status: "True" }] } };
      await expect(403, { method: "PATCH", path, headers: { ...merge, ...refused }, body: failed });
      await expect(200, { method: "PATCH", path, headers: { ...merge, ...allowed }, body: failed });
    });

    it(`${title} role: users can grant what they have, and no more`, async () => {
      const rules = (names: Names) => [
        { verbs: ["get"], apiGroups: [names.group("certificates")], resources: ["certificatesigningrequests"] },
        {
          verbs: ["approve"],
          apiGroups: [names.group("certificates")],
          resources: ["signers"],
          resourceNames: [signerNames.apiserverClient(names)],
        },
        {
          verbs: ["impersonate"],
          apiGroups: [names.group("authentication")],
          resources: [`userextras/${names.subdomainKey("authentication", "pod-name")}`],
        },
      ];
      const writer = {
        verbs: ["create"],
        apiGroups: [granted.group("rbac.authorization")],
        resources: ["clusterroles"],
      };
      const headers = await userWith([writer, ...rules(granted)]);
      const create = (wanted: readonly object[]) => ({
        method: "POST",
        path: rbac(asked, "clusterroles"),
        headers,
        body: { metadata: { name: newName() }, rules: wanted },
      });
      await expect(201, create(rules(asked)));
      const more = {
        verbs: ["approve"],
        apiGroups: [asked.group("certificates")],
        resources: ["signers"],
        resourceNames: [signerNames.nodeAgentServing(asked)],
      };
      const refused = await expect(403, create([more]));
      assert.equal(refused.details.group, asked.group("rbac.authorization"));
      await expect(403, create([{ ...more, resourceNames: [`${asked.domain}/*`] }]));
    });

    it(`${title} key: to impersonate it`, async () => {
      const extra = (names: Names): string => names.subdomainKey("authentication", "pod-name");
      const rule = {
        verbs: ["impersonate"],
        apiGroups: [granted.group("authentication")],
        resources: [`userextras/${extra(granted)}`],
      };
      const users = { verbs: ["impersonate"], apiGroups: [""], resources: ["users"] };
      const headers = await userWith([rule, users]);
      const path = `/apis/${asked.group("authorization")}/v1/selfsubjectaccessreviews`;
      // Each part of the question has its own spelling.
      for (const ofGroup of [asked, granted]) {
        const resourceAttributes = {
          verb: "impersonate",
          group: ofGroup.group("authentication"),
          resource: "userextras",
          subresource: extra(asked),
          name: "p",
        };
        const review = await expect(201, { method: "POST", path, headers, body: { spec: { resourceAttributes } } });
        assert.equal(review.status.allowed, true);
      }
    });

    it(`a binding of ${granted.profile}'s spelling keeps its role when ${asked.profile}'s is written`, async () => {
      const name = newName();
      const binding = (names: Names, role = "view") => ({
        apiVersion: `${names.group("rbac.authorization")}/v1`,
        kind: "ClusterRoleBinding",
        metadata: { name },
        roleRef: { apiGroup: names.group("rbac.authorization"), kind: "ClusterRole", name: role },
        subjects: [{ kind: "Group", name: "g" }],
      });
      const made = await expect(201, {
        method: "POST",
        path: rbac(granted, "clusterrolebindings"),
        body: binding(granted),
      });
      assert.equal(made.subjects[0].apiGroup, granted.group("rbac.authorization"), "the default is of the request");
      const path = `${rbac(asked, "clusterrolebindings")}/${name}?fieldManager=m&force=true`;
      const changed = await expect(200, { method: "PATCH", path, headers: applied, body: binding(asked) });
      assert.equal(changed.roleRef.apiGroup, asked.group("rbac.authorization"));
      await expect(422, { method: "PATCH", path, headers: applied, body: binding(asked, "edit") });
    });

    it(`a selector of ${granted.profile}'s spelling finds ${asked.profile}'s`, async () => {
      const body = requestFor(signerNames.apiserverClient(asked), { commonName: "bo" });
      await expect(201, { method: "POST", path: csrs(asked), body });
      const found = async (path: string): Promise<string[]> =>
        (await expect(200, { path })).items.map(({ metadata }: ApiObject) => metadata.name);
      const selector = encodeURIComponent(`spec.signerName=${signerNames.apiserverClient(granted)}`);
      assert.ok((await found(`${csrs(granted)}?fieldSelector=${selector}`)).includes(body.metadata.name));
      const published = await found(`${bundles(granted)}?fieldSelector=${selector}`);
      assert.ok(published.includes("platform.io:apiserver-client:ca") || published.length === 0);
      const secret = newName();
      const data = { ".dockercfg": Buffer.from("{}").toString("base64") };
      const path = "/api/v1/namespaces/default/secrets";
      await expect(201, {
        method: "POST",
        path,
        body: { metadata: { name: secret }, type: asked.key("dockercfg"), data },
      });
      await expect(422, {
        method: "POST",
        path,
        body: { metadata: { name: newName() }, type: asked.key("dockercfg") },
      });
      assert.ok(
        (await found(`${path}?fieldSelector=${encodeURIComponent(`type=${granted.key("dockercfg")}`)}`)).includes(
          secret,
        ),
      );
      const label = encodeURIComponent(`${granted.key("metadata.name")}=default`);
      assert.deepEqual(await found(`/api/v1/namespaces?labelSelector=${label}`), ["default"]);
    });

    it(`an account's annotation in ${granted.profile}'s spelling and a secret's type in ${asked.profile}'s fill the secret`, async () => {
      const name = newName();
      const key = granted.key("service-account.name");
      const body = { metadata: { name, annotations: { [key]: "default" } }, type: asked.key("service-account-token") };
      const path = "/api/v1/namespaces/default/secrets";
      await expect(201, { method: "POST", path, body });
      const filled = await eventually(
        secretResource(own),
        { namespace: "default", name },
        (one) => one?.data?.["token"] !== undefined,
      );
      assert.ok(filled?.metadata.annotations?.[granted.key("service-account.uid")], "as the name was written");
      const token = Buffer.from(filled?.data?.["token"] ?? "", "base64").toString();
      const review = `/apis/${asked.group("authentication")}/v1/tokenreviews`;
      const { status } = await expect(201, { method: "POST", path: review, body: { spec: { token } } });
      assert.equal(status.user?.username, "system:serviceaccount:default:default");
      const unnamed = { metadata: { name: newName() }, type: asked.key("service-account-token") };
      await expect(422, { method: "POST", path, body: unnamed });
    });
  }

  for (const names of both) {
    describe(`${names.profile}'s spelling`, () => {
      const node = { "impersonate-user": "system:node:worker", "impersonate-group": "system:nodes" };

      it("of a signer refuses what the other refuses", async () => {
        const masters = requestFor(signerNames.apiserverClient(names), {
          commonName: "x",
          organizations: ["system:masters"],
        });
        await expect(403, { method: "POST", path: csrs(names), body: masters });
        await expect(422, {
          method: "POST",
          path: csrs(names),
          body: requestFor(signerNames.legacyUnknown(names), { commonName: "x" }),
        });
        for (const nameIn of [signerNames.nodeAgentServing, signerNames.apiserverClientNodeAgent]) {
          const body = requestFor(nameIn(names), {
            commonName: "system:node:another",
            organizations: ["system:nodes"],
          });
          const refused = await expect(403, { method: "POST", path: csrs(names), headers: node, body });
          assert.match(refused.message, /can only create a node CSR with CN=system:node:worker/);
        }
      });

      it("of a reserved label may not be written by a node", async () => {
        for (const key of [
          `node-restriction.${names.domain}/zone`,
          names.key("anything"),
          names.subdomainKey("node-role", "control-plane"),
        ]) {
          const body = { metadata: { name: "worker", labels: { [key]: "x" } } };
          await expect(403, { method: "POST", path: "/api/v1/nodes", headers: node, body });
        }
        const body = { metadata: { name: "worker", labels: { [names.key("hostname")]: "worker" } } };
        await expect(201, { method: "POST", path: "/api/v1/nodes?dryRun=All", headers: node, body });
      });

      it("of the mirror annotation makes a Pod a mirror: without a node, an account or a way back", async () => {
        const annotations = { [names.key("config.mirror")]: "x" };
        const spec = { nodeName: "worker", containers: [{ name: "main", image: "i" }] };
        const path = "/api/v1/namespaces/default/pods";
        const pod = (more: object) => ({ metadata: { name: newName(), annotations }, spec: { ...spec, ...more } });
        const made = await expect(201, { method: "POST", path, body: pod({}) });
        assert.deepEqual([made.spec.serviceAccountName, made.spec.volumes], [undefined, undefined]);
        await expect(403, { method: "POST", path, body: pod({ serviceAccountName: "default" }) });
        await expect(422, { method: "POST", path, body: pod({ nodeName: "" }) });
        const body = { metadata: { annotations: { [names.key("config.mirror")]: null } } };
        await expect(422, { method: "PATCH", path: `${path}/${made.metadata.name}`, headers: merge, body });
      });

      it("of enforce-mountable-secrets restricts an account's Pods", async () => {
        const name = newName();
        const accounts = "/api/v1/namespaces/default/serviceaccounts";
        const annotations = { [names.key("enforce-mountable-secrets")]: "true" };
        await expect(201, { method: "POST", path: accounts, body: { metadata: { name, annotations } } });
        const spec = {
          serviceAccountName: name,
          containers: [{ name: "main", image: "i" }],
          volumes: [{ name: "v", secret: { secretName: "s" } }],
        };
        const body = { metadata: { name }, spec };
        await expect(403, { method: "POST", path: "/api/v1/namespaces/default/pods", body });
      });

      it("of the token's mount path keeps a second token from being mounted", async () => {
        const volumeMounts = [{ name: "v", mountPath: names.tokenVolume.mountPath }];
        const spec = {
          containers: [{ name: "main", image: "i", volumeMounts }],
          volumes: [{ name: "v", emptyDir: {} }],
        };
        const path = "/api/v1/namespaces/default/pods";
        const made = await expect(201, { method: "POST", path, body: { metadata: { name: newName() }, spec } });
        assert.equal(made.spec.volumes.length, 1);
      });

      it("of a bootstrap token's type logs in", async () => {
        const id = `${names.profile.slice(0, 3)}123`;
        const data = Object.fromEntries(
          Object.entries({
            "token-id": id,
            "token-secret": "0123456789abcdef",
            "usage-bootstrap-authentication": "true",
          }).map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
        );
        const body = { metadata: { name: `bootstrap-token-${id}` }, type: `bootstrap.${names.domain}/token`, data };
        await expect(201, { method: "POST", path: "/api/v1/namespaces/platform-system/secrets", body });
        const path = `/apis/${names.group("authentication")}/v1/selfsubjectreviews`;
        const headers = { authorization: `Bearer ${id}.0123456789abcdef` };
        const { status } = await expect(201, { method: "POST", path, headers, body: {} });
        assert.equal(status.userInfo.username, `system:bootstrap:${id}`);
      });

      it("of an owner's apiVersion lets its dependents end with it", async () => {
        const name = newName();
        const path = `/apis/${names.group("rbac.authorization")}/v1/namespaces/default/roles`;
        const { metadata } = await expect(201, { method: "POST", path, body: { metadata: { name }, rules: [] } });
        const owner = {
          apiVersion: `${names.group("rbac.authorization")}/v1`,
          kind: "Role",
          name,
          uid: metadata.uid,
          blockOwnerDeletion: true,
        };
        const dependent = { metadata: { name, ownerReferences: [owner] } };
        const maps = "/api/v1/namespaces/default/configmaps";
        const editor = { verbs: ["create"], apiGroups: [""], resources: ["configmaps"] };
        const finalizers = {
          verbs: ["update"],
          apiGroups: ["rbac.authorization.platform.io"],
          resources: ["roles/finalizers"],
        };
        await expect(403, { method: "POST", path: maps, headers: await userWith([editor]), body: dependent });
        await expect(201, {
          method: "POST",
          path: maps,
          headers: await userWith([editor, finalizers]),
          body: dependent,
        });
        await expect(200, { method: "DELETE", path: `${path}/${name}` });
        await eventually(configMapResource(own), { namespace: "default", name }, (one) => one === undefined);
      });

      it("of an aggregation label adds a role to the default ones", async () => {
        const name = newName();
        const labels = { [`${names.group("rbac.authorization")}/aggregate-to-view`]: "true" };
        const rules = [{ verbs: ["get"], apiGroups: ["example.com"], resources: [name] }];
        await expect(201, {
          method: "POST",
          path: rbac(names, "clusterroles"),
          body: { metadata: { name, labels }, rules },
        });
        const type = {
          group: own.group("rbac.authorization"),
          version: "v1",
          kind: "ClusterRole",
          plural: "clusterroles",
          scope: "Cluster",
        } as const;
        await eventually(type, { name: "view" }, (role) => JSON.stringify(role).includes(`"${name}"`));
      });
    });
  }
});

describe("a server that is restarted with the second spelling", () => {
  it("labels its existing namespaces, and applies roles in that spelling", async () => {
    const dataDirectory = mkdtempSync(join(tmpdir(), "signet-spellings-"));
    const start = (settings: object) =>
      startTestServer({ storage: "lmdb", dataDirectory, settings: { ...settings, controllers: "false" } });
    const rules = [{ verbs: ["get"], apiGroups: ["certificates.k8s.io"], resources: ["certificatesigningrequests"] }];
    const apiGroup = "rbac.authorization.platform.io";
    const path = "/apis/authorization.platform.io/v1/subjectaccessreviews";
    const resourceAttributes = {
      verb: "get",
      group: "certificates.platform.io",
      resource: "certificatesigningrequests",
    };
    const mayGet = async (api: ApiRequester): Promise<boolean> => {
      const answer = await api.send({ method: "POST", path, body: { spec: { user: "ann", resourceAttributes } } });
      return answer.json().status.allowed;
    };
    try {
      const alone = await start({ "upstream-names": false });
      const earlier = new ApiRequester(alone);
      const send = (plural: string, body: object) =>
        earlier.send({ method: "POST", path: `/apis/${apiGroup}/v1/${plural}`, body });
      await send("clusterroles", { metadata: { name: "r" }, rules });
      const subjects = [{ apiGroup, kind: "User", name: "ann" }];
      const roleRef = { apiGroup, kind: "ClusterRole", name: "r" };
      await send("clusterrolebindings", { metadata: { name: "r" }, roleRef, subjects });
      assert.equal(await mayGet(earlier), false);
      assert.equal((await earlier.send({ path: "/apis/certificates.k8s.io/v1" })).status, 404);
      earlier.close();
      await alone.stop();

      const both = await start({});
      const later = new ApiRequester(both);
      const label = encodeURIComponent("kubernetes.io/metadata.name=default");
      const { items } = (await later.send({ path: `/api/v1/namespaces?labelSelector=${label}` })).json();
      assert.equal(items.length, 1);
      assert.equal(await mayGet(later), true);
      later.close();
      await both.stop();
    } finally {
      rmSync(dataDirectory, { recursive: true, force: true });
    }
  });
});
