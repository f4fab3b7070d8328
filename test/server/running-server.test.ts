import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { platformNames as names } from "../../src/machinery/api/names.ts";
import { InProcess } from "./in-process.ts";
import { startTestServer } from "../test-server.ts";
import type { TestServer } from "../test-server.ts";

const authentication = `${names.group("authentication")}/v1`;
const authorization = `${names.group("authorization")}/v1`;
const rbac = `${names.group("rbac.authorization")}/v1`;

let server: TestServer;
let api: InProcess;
before(async () => {
  // Without controllers, a deleted namespace keeps terminating.
  server = await startTestServer({ settings: { controllers: false } });
  api = new InProcess(server);
});

const post = (path: string, body: object, headers: Readonly<Record<string, string>> = {}) =>
  api.json(path, { method: "POST", body, headers });

describe("a Pod right behind its namespace", () => {
  it("waits for the account default, and is refused when none comes", async () => {
    await post("/api/v1/namespaces", { metadata: { name: "fresh" } });
    const pods = "/api/v1/namespaces/fresh/pods";
    const pod = { metadata: { name: "early" }, spec: { containers: [{ name: "c", image: "i" }] } };
    assert.match((await post(pods, pod)).message, /error looking up service account fresh\/default: .* not found$/);
    const created = api.send(pods, { method: "POST", body: pod });
    await post("/api/v1/namespaces/fresh/serviceaccounts", { metadata: { name: "default" } });
    assert.equal((await created).status, 201);
  });
});

describe("a token request", () => {
  const request = { apiVersion: authentication, kind: "TokenRequest", spec: { audiences: [] } };

  it("is refused in a namespace that is being terminated, dry or not", async () => {
    await post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "ending" } });
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "bot" } };
    await post("/api/v1/namespaces/ending/serviceaccounts", account);
    const path = "/api/v1/namespaces/ending/serviceaccounts/bot/token";
    assert.equal((await api.send(path, { method: "POST", body: request })).status, 201);
    await api.send("/api/v1/namespaces/ending", { method: "DELETE" });
    for (const query of ["", "?dryRun=All"]) {
      const { code, message, details } = await post(`${path}${query}`, request);
      assert.equal(code, 403);
      assert.equal(
        message,
        'serviceaccounts "bot" is forbidden: unable to create new content in namespace ending because it is being terminated',
      );
      assert.deepEqual(details.causes?.[0]?.field, "metadata.namespace");
    }
  });

  it("is a 404 that names the namespace when the namespace is missing", async () => {
    const { code, message } = await post("/api/v1/namespaces/nowhere/serviceaccounts/bot/token", request);
    assert.deepEqual([code, message], [404, 'namespaces "nowhere" not found']);
  });
});

describe("an access review", () => {
  it("does not reveal which namespaces exist", async () => {
    const spec = { user: "ann", resourceAttributes: { namespace: "nowhere", verb: "get", resource: "pods" } };
    const review = { apiVersion: authorization, kind: "LocalSubjectAccessReview", spec };
    const path = `/apis/${authorization}/namespaces/nowhere/localsubjectaccessreviews`;
    assert.equal((await api.send(path, { method: "POST", body: review })).status, 201);
  });
});

describe("a role of very many names", () => {
  it("is refused with a short message to a user without its permissions", async () => {
    const mayWriteRoles = { verbs: ["create"], apiGroups: [names.group("rbac.authorization")], resources: ["roles"] };
    const role = { apiVersion: rbac, kind: "Role", metadata: { name: "writer" }, rules: [mayWriteRoles] };
    const path = `/apis/${rbac}/namespaces/default`;
    await post(`${path}/roles`, role);
    await post(`${path}/rolebindings`, {
      apiVersion: rbac,
      kind: "RoleBinding",
      metadata: { name: "writer" },
      roleRef: { apiGroup: names.group("rbac.authorization"), kind: "Role", name: "writer" },
      // A user who is named several times holds the role once.
      subjects: Array.from({ length: 5000 }, () => ({ kind: "User", name: "ann" })),
    });
    const resourceNames = Array.from({ length: 20_000 }, (_, index) => `n${index}`);
    for (const rules of [
      [{ verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames }],
      resourceNames.slice(0, 900).map((name) => ({ verbs: [name], apiGroups: [""], resources: ["pods"] })),
    ]) {
      const body = { ...role, metadata: { name: "many" }, rules };
      const sent = { method: "POST", body, headers: { "impersonate-user": "ann" } };
      const { status, body: answer } = await api.send(`${path}/roles`, sent);
      assert.equal(status, 403);
      assert.ok(String(answer).length < 40_000, `${String(answer).length} characters`);
    }
  });
});
