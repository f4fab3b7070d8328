import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { ApiRequester } from "../../profiles/api-request.ts";

let api: ApiRequester;
before(async () => {
  api = await ApiRequester.toNewServer({ profile: "kubernetes" });
});
after(() => api.stop());

interface Change {
  readonly path: string;
  /** What the change sends, in an update, a patch or an apply. */
  readonly sent: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The answers to the change as an update, as patches and as an apply. */
async function answers({ path, sent, headers = {} }: Change): Promise<readonly (readonly [number, string])[]> {
  const whole = (await api.send({ path })).json();
  const { apiVersion, kind, metadata } = whole;
  const changes = [
    { type: "json", body: { ...whole, ...sent }, method: "PUT" },
    { type: "merge-patch+json", body: sent },
    { type: "strategic-merge-patch+json", body: sent },
    {
      type: "json-patch+json",
      body: Object.entries(sent).map(([name, value]) => ({ op: "add", path: `/${name}`, value })),
    },
    { type: "apply-patch+yaml", body: { apiVersion, kind, metadata: { name: metadata.name }, ...sent } },
  ];
  const answered = changes.map(async ({ type, body, method = "PATCH" }): Promise<readonly [number, string]> => {
    const query = type === "apply-patch+yaml" ? "?fieldManager=test&force=true&dryRun=All" : "?dryRun=All";
    const sentHeaders = { "content-type": `application/${type}`, ...headers };
    const answer = await api.send({ method, path: path + query, headers: sentHeaders, body });
    return [answer.status, answer.json().message ?? ""];
  });
  return Promise.all(answered);
}

/** As upstream: Go tells an empty map, and empty bytes, from none, and these rules compare them so. */
describe("a field that was sent empty", () => {
  const detail = "field is immutable when `immutable` is set";
  for (const [kind, resource, field] of [
    ["ConfigMap", "configmaps", "binaryData"],
    ["Secret", "secrets", "data"],
  ] as const) {
    it(`changes the ${field} of an immutable ${kind} without any`, async () => {
      const path = `/api/v1/namespaces/default/${resource}`;
      const body = { metadata: { name: "frozen" }, immutable: true, [field]: {} };
      assert.equal((await api.send({ method: "POST", path, body })).status, 201);
      const message = `${kind} "frozen" is invalid: ${field}: Forbidden: ${detail}`;
      const refused = Array.from({ length: 5 }, () => [422, message]);
      assert.deepEqual(await answers({ path: `${path}/frozen`, sent: { immutable: true, [field]: {} } }), refused);
      for (const sent of [{ immutable: true }, { immutable: true, [field]: null }]) {
        const kept = await answers({ path: `${path}/frozen`, sent });
        assert.deepEqual(
          kept,
          Array.from({ length: 5 }, () => [200, ""]),
        );
      }
    });
  }

  it("changes no text data of an immutable ConfigMap without any", async () => {
    const path = "/api/v1/namespaces/default/configmaps";
    const body = { metadata: { name: "texts" }, immutable: true };
    assert.equal((await api.send({ method: "POST", path, body })).status, 201);
    const kept = await answers({ path: `${path}/texts`, sent: { immutable: true, data: {} } });
    assert.deepEqual(
      kept,
      Array.from({ length: 5 }, () => [200, ""]),
    );
  });

  it("is a certificate that a request's status changes to, which needs the permission to sign", async () => {
    const rbac = "/apis/rbac.authorization.k8s.io/v1";
    const rules = [
      { apiGroups: ["certificates.k8s.io"], resources: ["certificatesigningrequests/status"], verbs: ["*"] },
    ];
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "status" };
    const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "jane" }];
    const metadata = { name: "status" };
    await api.send({ method: "POST", path: `${rbac}/clusterroles`, body: { metadata, rules } });
    await api.send({ method: "POST", path: `${rbac}/clusterrolebindings`, body: { metadata, roleRef, subjects } });

    const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    const request = readFileSync(new URL("../../conformance/fixtures/csr-ecdsa.pem", import.meta.url)).toString(
      "base64",
    );
    const spec = { request, signerName: "example.com/signer", usages: ["client auth"] };
    assert.equal((await api.send({ method: "POST", path, body: { metadata: { name: "a" }, spec } })).status, 201);

    const headers = { "impersonate-user": "jane" };
    const change = (sent: object) => answers({ path: `${path}/a/status`, headers, sent });
    for (const [status, message] of await change({ status: { certificate: "" } })) {
      assert.equal(status, 403, message);
      assert.match(message, /user not permitted to sign requests with signerName "example.com\/signer"$/);
    }
    // What a signer sent empty is not sent again by the writers after it.
    const signed = { metadata: { labels: { by: "signer" } }, status: { certificate: "" } };
    const patch = { method: "PATCH", path: `${path}/a/status`, body: signed };
    const contentType = "application/merge-patch+json";
    assert.equal((await api.send({ ...patch, headers: { "content-type": contentType } })).status, 200);
    assert.deepEqual(
      await change({ status: {} }),
      Array.from({ length: 5 }, () => [200, ""]),
    );
  });

  it("is not shown, nor stored", async () => {
    const path = "/api/v1/namespaces/default/secrets";
    const created = (await api.send({ method: "POST", path, body: { metadata: { name: "none" }, data: {} } })).json();
    assert.equal("data" in created, false);
    assert.equal("data" in (await api.send({ path: `${path}/none` })).json(), false);
  });
});
