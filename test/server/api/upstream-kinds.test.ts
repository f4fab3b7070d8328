import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ApiRequest } from "../../profiles/api-request.ts";
import { answer, api, objects } from "./upstream-server.ts";

/** Each answer is what kube-apiserver 1.36 answered to the same request. */
describe("a server that has rules for a kind, like upstream,", () => {
  it("says of amounts that are no object that they should be a ResourceList", async () => {
    const [status, { message }] = await answer({
      method: "POST",
      path: `${objects}/pods`,
      body: {
        metadata: { name: "odd" },
        spec: { containers: [{ name: "c", image: "i", resources: { limits: "1" } }] },
      },
    });
    const field = "ResourceRequirements.spec.containers.resources.limits";
    assert.deepEqual(
      [status, message],
      [
        400,
        'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field ' +
          `${field} of type v1.ResourceList`,
      ],
    );
  });

  it("labels a namespace with its generated name when the name is valid", async () => {
    const create = (metadata: object): ApiRequest => ({
      method: "POST",
      path: "/api/v1/namespaces?dryRun=All",
      body: { metadata },
    });
    const fields = ({ details }: { details: { causes: readonly { field: string }[] } }): string[] =>
      details.causes.map(({ field }) => field);
    const [, { metadata }] = await answer(create({ generateName: "a-" }));
    assert.equal(metadata.labels["kubernetes.io/metadata.name"], metadata.name);
    assert.deepEqual(fields((await answer(create({ generateName: "--" })))[1]), ["metadata.name"]);
    assert.deepEqual(fields((await answer(create({ name: "--" })))[1]), ["metadata.name", "metadata.labels"]);
  });

  it("shows unset times of conditions as null", async () => {
    const merge = { method: "PATCH", headers: { "content-type": "application/merge-patch+json" } };
    const conditions = [{ type: "Example", status: "True" }];
    const path = `${objects}/status?dryRun=All`;
    const [, { status }] = await answer({ ...merge, path, body: { status: { conditions } } });
    assert.deepEqual(status.conditions, [{ ...conditions[0], lastTransitionTime: null }]);
    const node = { metadata: { name: "times" }, status: { conditions } };
    const [, created] = await answer({ method: "POST", path: "/api/v1/nodes?dryRun=All", body: node });
    assert.deepEqual(created.status.conditions, [
      { ...conditions[0], lastHeartbeatTime: null, lastTransitionTime: null },
    ]);
  });

  it("refuses invalid taints and duplicate addresses of a Node", async () => {
    const dryRun = async (method: string, path: string, body: object): Promise<unknown> => {
      const [status, { details, message }] = await answer({ method, path: `/api/v1/nodes${path}?dryRun=All`, body });
      assert.equal(status, 422, message);
      return details.causes.map((one: { field: string; message: string }) => `${one.field}: ${one.message}`);
    };
    const metadata = { name: "tainted" };
    const taint = { key: "a", effect: "NoSchedule" };
    const taints = [taint, { ...taint, value: "b" }, { key: "a" }];
    const shown = '{"Key":"a","Value":"b","Effect":"NoSchedule","TimeAdded":null}';
    const faults = [
      `metadata.taints[1]: Duplicate value: ${shown}: taints must be unique by key and effect pair`,
      "metadata.taints[2].effect: Required value",
    ];
    assert.deepEqual(await dryRun("POST", "", { metadata, spec: { taints } }), faults);
    await answer({ method: "POST", path: "/api/v1/nodes", body: { metadata } });
    assert.deepEqual(await dryRun("PUT", "/tainted", { metadata, spec: { taints } }), [...faults, ...faults]);
    for (const wrong of [{ key: "a b" }, { value: "a b" }, { effect: "No" }]) {
      const causes = await dryRun("POST", "", {
        metadata: { name: "new" },
        spec: { taints: [{ ...taint, ...wrong }] },
      });
      assert.ok(String(causes).startsWith(`metadata.taints[0].${Object.keys(wrong).join("")}: `));
    }
    const address = { type: "InternalIP", address: "192.0.2.1" };
    const body = { metadata, status: { addresses: [address, address] } };
    const twice = 'status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"192.0.2.1"}';
    assert.deepEqual(await dryRun("PUT", "/tainted/status", body), [twice]);
    const externalID = "spec.externalID: Forbidden: may not be updated";
    assert.deepEqual(await dryRun("PUT", "/tainted", { metadata, spec: { externalID: "x" } }), [externalID]);
  });

  it("names the fields of an Event as its group does, and its kind without the group", async () => {
    const path = "/apis/events.k8s.io/v1/namespaces/default/events";
    const eventTime = "2026-01-01T00:00:00.000000Z";
    const event = {
      metadata: { name: "new" },
      regarding: { kind: "Pod", name: "x", namespace: "default" },
      reason: "Reason",
      type: "Normal",
      action: "Action",
      eventTime,
      reportingController: "example.com/a",
      reportingInstance: "a",
    };
    assert.equal((await answer({ method: "POST", path, body: event }))[0], 201);
    const { action: _, ...body } = { ...event, reportingController: "a b" };
    const [status, { message, details }] = await answer({ method: "PUT", path: `${path}/new`, body });
    assert.equal(status, 422);
    assert.ok(message.startsWith('Event "new" is invalid: [reportingController: Invalid value: "a b": name part'));
    assert.deepEqual([details.kind, details.group], ["Event", undefined]);
    const immutable = (field: string, value: string): object => ({
      reason: "FieldValueInvalid",
      message: `Invalid value: "${value}": field is immutable`,
      field,
    });
    assert.deepEqual(details.causes.slice(2), [immutable("action", ""), immutable("reportingController", "a b")]);
  });

  it("shows <unknown> for an Event without times", async () => {
    const path = `${objects}/events`;
    const involvedObject = { kind: "Pod", name: "x", namespace: "default" };
    await answer({ method: "POST", path, body: { metadata: { name: "unseen" }, involvedObject } });
    const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
    const [, { rows }] = await answer({ path: `${path}/unseen`, headers });
    assert.equal(rows[0].cells[0], "<unknown>");
  });

  it("names the wrong finalizer in a request to finalize a Namespace", async () => {
    const path = "/api/v1/namespaces/default/finalize";
    const body = { metadata: { name: "default" }, spec: { finalizers: ["kubernetes", "x"] } };
    const [status, { details }] = await answer({ method: "PUT", path, body });
    assert.deepEqual([status, details.causes[0].field], [422, "spec.finalizers[1]"]);
  });

  it("accepts any name that is valid in a path for an Event of the core group", async () => {
    const involvedObject = { kind: "Pod", name: "x", namespace: "default" };
    const create = (path: string, name: string): ApiRequest => ({
      method: "POST",
      path: `${path}/events?dryRun=All`,
      body: { metadata: { name }, involvedObject },
    });
    assert.equal((await answer(create(objects, "Any Name:1")))[0], 201);
    assert.equal((await answer(create(objects, "a/b")))[0], 422);
    const [, { details }] = await answer(create("/apis/events.k8s.io/v1/namespaces/default", "Any Name:1"));
    assert.equal(details.causes[0].field, "metadata.name");
  });

  it("warns of a Secret for TLS whose certificate and key are no pair", async () => {
    const path = `${objects}/secrets`;
    const data = { "tls.crt": "", "tls.key": "" };
    const body = { metadata: { name: "no-pair" }, type: "kubernetes.io/tls", data };
    const warning = '299 - "tls: failed to find any PEM data in certificate input"';
    for (const [method, at] of [
      ["POST", path],
      ["PUT", `${path}/no-pair`],
    ] as const) {
      const { status, headers } = await api.send({ method, path: at, body });
      assert.deepEqual([status < 300, headers["warning"]], [true, warning]);
    }
  });

  it("says of a new Pod how important it is, of which class, and how long it stays on lost nodes", async () => {
    const containers = [{ name: "c", image: "i", resources: { limits: { cpu: "1000m" } } }];
    const body = { metadata: { name: "complete" }, spec: { containers } };
    const [, { metadata, spec, status }] = await answer({ method: "POST", path: `${objects}/pods?dryRun=All`, body });
    assert.deepEqual([metadata.generation, spec.priority, spec.preemptionPolicy], [1, 0, "PreemptLowerPriority"]);
    assert.deepEqual([spec.securityContext, status.qosClass], [{}, "Burstable"]);
    assert.deepEqual(spec.containers[0].resources, { limits: { cpu: "1" }, requests: { cpu: "1" } });
    const toleration = (key: string): object => ({
      key,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: 300,
    });
    const keys = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
    assert.deepEqual(spec.tolerations, keys.map(toleration));
  });

  it("warns of fields of a Node that nothing reads, and of a Pod's name that is no host name", async () => {
    const warningsOf = async (path: string, body: object): Promise<string> =>
      (await api.send({ method: "POST", path: `${path}?dryRun=All`, body })).headers["warning"] ?? "";
    const metadata = { name: "a.b" };
    const node = { metadata, spec: { externalID: "x" } };
    const unused = '299 - "spec.externalID: this field is deprecated, and is unused by Kubernetes"';
    assert.equal(await warningsOf("/api/v1/nodes", node), unused);
    const containers = [{ name: "c", image: "i" }];
    const warning = await warningsOf(`${objects}/pods`, { metadata, spec: { containers } });
    assert.match(warning, /^299 - "metadata\.name: this is used in the Pod's hostname, .*: \[must not contain dots\]"/);
  });
});
