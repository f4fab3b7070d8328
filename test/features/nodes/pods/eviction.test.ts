import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { AdmissionRule } from "../../../../src/machinery/api/attributes.ts";
import { admissionForbidden } from "../../../../src/machinery/registry/admission.ts";
import { InProcess } from "../../../server/in-process.ts";
import type { SentRequest } from "../../../server/in-process.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";

const pods = "/api/v1/namespaces/default/pods";

interface Answer {
  readonly code?: number;
  readonly message?: string;
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
    readonly deletionGracePeriodSeconds?: number;
  };
  readonly status: { readonly conditions?: readonly object[] };
}

let server: TestServer;
let api: InProcess;
before(async () => {
  const guard: AdmissionRule = {
    name: "Guard",
    validate(attributes) {
      if (attributes.operation !== "DELETE" || attributes.name !== "guarded") return;
      throw admissionForbidden(attributes, "it stays");
    },
  };
  server = await startTestServer({ admission: [guard] });
  api = new InProcess(server);
  await api.json("/api/v1/nodes", { method: "POST", body: { metadata: { name: "n1" } } });
});

const make = (name: string, nodeName?: string): Promise<Answer> =>
  api.json<Answer>(pods, {
    method: "POST",
    body: {
      metadata: { name },
      spec: { containers: [{ name: "c", image: "i" }], ...(nodeName !== undefined && { nodeName }) },
    },
  });
const get = (name: string): Promise<Answer> => api.json<Answer>(`${pods}/${name}`);
const evict = (name: string, deleteOptions?: object, { query = "", ...more }: SentRequest & { query?: string } = {}) =>
  api.json<Answer>(`${pods}/${name}/eviction${query}`, {
    method: "POST",
    body: { apiVersion: "policy/v1", kind: "Eviction", metadata: { name }, deleteOptions },
    ...more,
  });
const success = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 };

describe("an eviction", () => {
  it("removes a Pod that no node runs", async () => {
    await make("waiting");
    assert.deepEqual(await evict("waiting"), success);
    assert.equal((await get("waiting")).code, 404);
    assert.partialDeepStrictEqual(await evict("waiting"), { code: 404, message: 'pods "waiting" not found' });
  });

  it("gives a Pod on a node its time to end, and says why in a condition", async () => {
    await make("running", "n1");
    assert.deepEqual(await evict("running"), success);
    const evicted = await get("running");
    assert.equal(evicted.metadata.deletionGracePeriodSeconds, 30);
    assert.partialDeepStrictEqual(evicted.status.conditions, [
      {
        type: "DisruptionTarget",
        status: "True",
        lastProbeTime: null,
        reason: "EvictionByEvictionAPI",
        message: "Eviction API: evicting",
      },
    ]);
    assert.deepEqual(await evict("running"), success);
    assert.deepEqual(await get("running"), evicted, "again changes nothing");
    assert.deepEqual(await evict("running", { gracePeriodSeconds: 0 }), success);
    assert.equal((await get("running")).code, 404);
  });

  it("keeps to the end of time a Pod with a period that is longer, and shortens it", async () => {
    await make("patient", "n1");
    assert.deepEqual(await evict("patient", { gracePeriodSeconds: 9007199254740991 }), success);
    const { metadata } = await get("patient");
    assert.equal(metadata.deletionTimestamp, "9999-12-31T23:59:59Z");
    assert.deepEqual(await evict("patient", { gracePeriodSeconds: 60 }), success);
    const shortened = Date.parse((await get("patient")).metadata.deletionTimestamp ?? "");
    assert.ok(Math.abs(shortened - Date.now() - 60_000) < 30_000);
  });

  it("tells watchers the condition before the deletion", async () => {
    const { metadata } = await make("watched");
    const watch = await api.watch(`${pods}?watch=true&resourceVersion=${metadata.resourceVersion}`);
    await evict("watched");
    await watch.until(3);
    watch.stop();
    const shown = watch.events.map(({ type, object }) => {
      const { status, metadata: seen } = object as unknown as Answer;
      return [type, status.conditions?.length, seen.deletionGracePeriodSeconds];
    });
    assert.deepEqual(shown, [
      ["MODIFIED", 1, undefined],
      ["MODIFIED", 1, 0],
      ["DELETED", 1, 0],
    ]);
  });

  it("is only tried by a dry run, whichever of the two says so", async () => {
    const made = await make("tried", "n1");
    assert.deepEqual(await evict("tried", undefined, { query: "?dryRun=All" }), success);
    assert.deepEqual(await evict("tried", { dryRun: ["All"] }), success);
    assert.deepEqual(await get("tried"), made);
    assert.partialDeepStrictEqual(await evict("tried", { dryRun: ["Some"] }), { code: 422 });
  });

  it("keeps to preconditions, which its own condition does not break", async () => {
    const { metadata } = await make("exact", "n1");
    const refusal = { code: 409, reason: "Conflict" };
    assert.partialDeepStrictEqual(await evict("exact", { preconditions: { uid: "other" } }), refusal);
    assert.partialDeepStrictEqual(await evict("exact", { preconditions: { resourceVersion: "1" } }), refusal);
    assert.equal((await get("exact")).metadata.deletionTimestamp, undefined);
    const { uid, resourceVersion } = metadata;
    assert.deepEqual(await evict("exact", { preconditions: { uid, resourceVersion } }), success);
    assert.notEqual((await get("exact")).metadata.deletionTimestamp, undefined);
  });

  it("names the Pod of the path, and is of either version", async () => {
    await make("named");
    const body = (more: object): object => ({ body: { apiVersion: "policy/v1", kind: "Eviction", ...more } });
    for (const metadata of [{}, { name: "other" }]) {
      assert.partialDeepStrictEqual(await evict("named", undefined, body({ metadata })), {
        code: 400,
        message: "name in URL does not match name in Eviction object",
      });
    }
    assert.equal((await evict("named", undefined, body({ kind: "Pod", metadata: { name: "named" } }))).code, 400);
    const option = { ignoreStoreReadErrorWithClusterBreakingPotential: true };
    assert.partialDeepStrictEqual(await evict("named", option), { code: 422 });
    const older = { apiVersion: "policy/v1beta1", kind: "Eviction", metadata: { name: "named" } };
    assert.deepEqual(await evict("named", undefined, { body: older }), success);
  });

  it("takes the permission to create pods/eviction, and no refusal of the deletion", async () => {
    await make("guarded");
    const account = "/api/v1/namespaces/default/serviceaccounts";
    await api.json(account, { method: "POST", body: { metadata: { name: "evictor" } } });
    const { status } = await api.json<{ status: { token: string } }>(`${account}/evictor/token`, {
      method: "POST",
      body: {},
    });
    const as = { token: status.token };
    assert.partialDeepStrictEqual(await evict("guarded", undefined, as), { code: 403 });
    // Not the role `edit`: a loop gathers its rules.
    const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    const rules = [{ apiGroups: [""], resources: ["pods/eviction"], verbs: ["create"] }];
    await api.json(`${rbac}/roles`, { method: "POST", body: { metadata: { name: "evictor" }, rules } });
    await api.json(`${rbac}/rolebindings`, {
      method: "POST",
      body: {
        metadata: { name: "evictor" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "evictor" },
        subjects: [{ kind: "ServiceAccount", name: "evictor", namespace: "default" }],
      },
    });
    const refusal = { code: 403, message: 'pods "guarded" is forbidden: it stays' };
    assert.partialDeepStrictEqual(await evict("guarded", undefined, as), refusal);
    assert.equal((await get("guarded")).status.conditions, undefined);
  });
});
