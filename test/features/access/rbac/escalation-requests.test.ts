import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { SentRequest } from "../../../server/in-process.ts";
import { InProcess } from "../../../server/in-process.ts";
import { startTestServer } from "../../../test-server.ts";

const groups = ["rbac.authorization.platform.io", "rbac.authorization.k8s.io"] as const;
const [own] = groups;
const alice = { "impersonate-user": "alice" };
const readSecrets = [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }];
const toAlice = [{ kind: "User", apiGroup: own, name: "alice" }];
const toStrong = { roleRef: { apiGroup: own, kind: "ClusterRole", name: "strong" } };

const kinds = [
  { kind: "Role", place: "namespaces/default/roles", weak: { rules: [] }, strong: { rules: readSecrets } },
  { kind: "ClusterRole", place: "clusterroles", weak: { rules: [] }, strong: { rules: readSecrets } },
  {
    kind: "RoleBinding",
    place: "namespaces/default/rolebindings",
    weak: toStrong,
    strong: { ...toStrong, subjects: toAlice },
  },
  {
    kind: "ClusterRoleBinding",
    place: "clusterrolebindings",
    weak: toStrong,
    strong: { ...toStrong, subjects: toAlice },
  },
] as const;

/** Every request that writes an object: `path` is below its collection. */
function writes(apiVersion: string, kind: string, strong: Readonly<Record<string, unknown>>) {
  const body = (name: string) => ({ apiVersion, kind, metadata: { name }, ...strong });
  const patch = (type: string, sent: unknown): SentRequest => ({
    method: "PATCH",
    headers: { "content-type": `application/${type}` },
    body: sent,
  });
  const operations = Object.entries(strong).map(([field, value]) => ({ op: "add", path: `/${field}`, value }));
  return [
    { path: "", sent: { method: "POST", body: body("new") } },
    { path: "/new", sent: { method: "PUT", body: body("new") } },
    { path: "/new?fieldManager=f", sent: patch("apply-patch+yaml", body("new")) },
    { path: "/known", sent: { method: "PUT", body: body("known") } },
    { path: "/known", sent: patch("merge-patch+json", strong) },
    { path: "/known", sent: patch("strategic-merge-patch+json", strong) },
    { path: "/known", sent: patch("json-patch+json", operations) },
    { path: "/known?fieldManager=f&force=true", sent: patch("apply-patch+yaml", body("known")) },
  ] satisfies readonly { readonly path: string; readonly sent: SentRequest }[];
}

describe("a user who may write roles and bindings", () => {
  let api: InProcess;
  const create = async (path: string, body: object): Promise<void> =>
    assert.equal((await api.send(`/apis/${own}/v1/${path}`, { method: "POST", body })).status, 201);
  before(async () => {
    api = new InProcess(await startTestServer({ settings: { controllers: false } }));
    const resources = ["roles", "clusterroles", "rolebindings", "clusterrolebindings"];
    const rules = [{ apiGroups: [own], resources, verbs: ["create", "update", "patch"] }];
    await create("clusterroles", { metadata: { name: "strong" }, rules: readSecrets });
    await create("clusterroles", { metadata: { name: "author" }, rules });
    const roleRef = { apiGroup: own, kind: "ClusterRole", name: "author" };
    await create("clusterrolebindings", { metadata: { name: "author" }, roleRef, subjects: toAlice });
    for (const { place, weak } of kinds) await create(place, { metadata: { name: "known" }, ...weak });
  });

  for (const { kind, place, strong } of kinds) {
    it(`grants nothing beyond the own permissions through a ${kind}, with any verb, patch, spelling or dry run`, async () => {
      const known = `/apis/${own}/v1/${place}/known`;
      const unchanged = await api.json(known);
      for (const group of groups) {
        for (const { path, sent } of writes(`${group}/v1`, kind, strong)) {
          for (const dryRun of ["", "dryRun=All"]) {
            const target = `/apis/${group}/v1/${place}${path}${path.includes("?") ? "&" : "?"}${dryRun}`;
            const { code, message } = await api.json(target, { ...sent, headers: { ...sent.headers, ...alice } });
            assert.equal(code, 403, `${sent.method ?? ""} ${target}: ${message}`);
            assert.match(message, /is attempting to grant RBAC permissions not currently held:\n/);
          }
        }
      }
      assert.deepEqual(await api.json(known), unchanged);
      assert.equal((await api.send(`/apis/${own}/v1/${place}/new`)).status, 404);
    });
  }
});
