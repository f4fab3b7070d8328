import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { podSecurityLabels } from "../../../../src/features/core/namespaces/pod-security-labels.ts";
import { namesFor } from "../../../../src/machinery/api/names.ts";
import { InProcess } from "../../../server/in-process.ts";
import { startTestServer } from "../../../test-server.ts";
import { apiObject, refusalOf } from "../../admission-scene.ts";

type Labels = Readonly<Record<string, string>>;

const namespace = (labels: Labels) => apiObject({ metadata: { name: "shop", labels } });
const write = ({ labels, old, subresource = "" }: { labels: Labels; old?: Labels; subresource?: string }) =>
  refusalOf(podSecurityLabels(namesFor("platform", { hasUpstreamNames: true })), {
    resource: "namespaces",
    subresource,
    name: "shop",
    operation: old === undefined ? "CREATE" : "UPDATE",
    object: namespace(labels),
    ...(old !== undefined && { oldObject: namespace(old) }),
  });

describe("the pod security labels of a Namespace", () => {
  it("name a level and a version", async () => {
    for (const value of ["privileged", "baseline", "restricted"])
      assert.equal(await write({ labels: { "pod-security.platform.io/enforce": value } }), undefined);
    for (const value of ["latest", "v1.0", "v1.35", "v1.99"])
      assert.equal(await write({ labels: { "pod-security.platform.io/warn-version": value } }), undefined);
    assert.equal(
      await write({ labels: { "pod-security.platform.io/enforce": "strict" } }),
      '422 Namespace "shop" is invalid: metadata.labels[pod-security.platform.io/enforce]: Invalid value: "strict": must be one of privileged, baseline, restricted',
    );
    for (const value of ["", "1.30", "v2.0", "v1.01"])
      assert.match((await write({ labels: { "pod-security.platform.io/audit-version": value } })) ?? "", /"v1\.x"$/);
  });

  it("are known in either spelling, and others below their domain are no concern", async () => {
    assert.match((await write({ labels: { "pod-security.kubernetes.io/warn": "x" } })) ?? "", /kubernetes\.io\/warn\]/);
    assert.equal(await write({ labels: { "pod-security.kubernetes.io/other": "x" } }), undefined);
  });

  it("may stay as they are", async () => {
    const labels = { "pod-security.platform.io/enforce": "strict" };
    assert.equal(await write({ labels: { ...labels, other: "x" }, old: labels }), undefined);
    assert.match((await write({ labels: { "pod-security.platform.io/enforce": "lax" }, old: labels })) ?? "", /"lax"/);
    assert.equal(await write({ labels, old: {}, subresource: "finalize" }), undefined);
  });

  it("are checked in every write of a Namespace to a server", async () => {
    const api = new InProcess(await startTestServer({ settings: { controllers: false } }));
    const body = (name: string) => ({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name, labels: { "pod-security.platform.io/enforce": "strict" } },
    });
    const path = "/api/v1/namespaces/default";
    const merge = { "content-type": "application/merge-patch+json" };
    const apply = { "content-type": "application/apply-patch+yaml" };
    for (const [target, sent] of [
      ["/api/v1/namespaces", { method: "POST", body: body("shop") }],
      ["/api/v1/namespaces/shop?fieldManager=f", { method: "PATCH", headers: apply, body: body("shop") }],
      [path, { method: "PUT", body: body("default") }],
      [path, { method: "PATCH", headers: merge, body: body("default") }],
      [`${path}?fieldManager=f`, { method: "PATCH", headers: apply, body: body("default") }],
    ] as const) {
      const { code, message } = await api.json(target, sent);
      assert.equal(code, 422, target);
      assert.match(message, /enforce\]: Invalid value: "strict": must be one of/);
    }
  });
});
