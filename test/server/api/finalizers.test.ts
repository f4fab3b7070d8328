import assert from "node:assert/strict";
import { before, it } from "node:test";
import { namesFor } from "../../../src/machinery/api/names.ts";
import { apiPathOf, apiVersionOf } from "../../../src/machinery/api/resource-type.ts";
import { servedDefinitions } from "../../../src/machinery/registry/definition/resource-definition.ts";
import { storedResources } from "../../../src/server/served-kinds.ts";
import { sampleFields } from "../../profiles/sample-objects.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { InProcess } from "../in-process.ts";

const names = namesFor("kubernetes");
const merge = { "content-type": "application/merge-patch+json" };
let server: TestServer;
let api: InProcess;
before(async () => {
  server = await startTestServer({ profile: "kubernetes" });
  api = new InProcess(server);
});

it("a finalizer without a domain is accepted where upstream requires only a qualified name", async () => {
  const accepting: string[] = [];
  for (const definition of storedResources(names).flatMap((stored) => servedDefinitions(stored))) {
    if (definition.verbs?.includes("create") === false) continue;
    const { group, kind, plural, scope } = definition;
    const folder = scope === "Namespaced" ? "/namespaces/default" : "";
    const answer = await api.send(`${apiPathOf(definition)}${folder}/${plural}?dryRun=All`, {
      method: "POST",
      body: {
        metadata: { name: "short", finalizers: ["mine"] },
        ...sampleFields(names, { kind, group }),
      },
    });
    const text = String(answer.body);
    if (answer.status === 201) accepting.push(`${kind} ${apiVersionOf(definition)}`);
    else
      assert.match(
        text,
        /metadata\.finalizers\[0\]: Invalid value: \\"mine\\": name is neither a standard finalizer name nor is it fully qualified/,
      );
  }
  assert.deepEqual(accepting.sort(), [
    "Event v1",
    "Lease coordination.k8s.io/v1",
    "ValidatingAdmissionPolicy admissionregistration.k8s.io/v1",
    "ValidatingAdmissionPolicyBinding admissionregistration.k8s.io/v1",
  ]);
});

it("a finalizer without a domain keeps a Lease, is changed and removed, and must be a qualified name", async () => {
  const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
  await api.json(leases, { method: "POST", body: { metadata: { name: "kept", finalizers: ["mine"] } } });
  await api.send(`${leases}/kept`, { method: "DELETE" });
  const change = (finalizers: readonly string[]) =>
    api.send(`${leases}/kept`, { method: "PATCH", headers: merge, body: { metadata: { finalizers } } });
  assert.equal((await change(["mine", "not a name"])).status, 422);
  assert.equal((await api.send(`${leases}/kept`)).status, 200);
  assert.equal((await change([])).status, 200);
  assert.equal((await api.send(`${leases}/kept`)).status, 404);
});
