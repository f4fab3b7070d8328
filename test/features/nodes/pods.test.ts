import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Pod } from "../../../src/features/nodes/pods/pod-schema.ts";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { pods } from "../../../src/features/nodes/pods/pods.ts";
import { cells, context, faultsOfChange, faultsOfNew, prepared } from "../resource-scene.ts";

const definition = pods(platformNames);
const pod = (spec: Partial<Pod["spec"]> = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  spec: { containers: [{ name: "c", image: "image", resources: {} }], terminationGracePeriodSeconds: 30, ...spec },
  status: { phase: "Pending" },
});

describe("a pod", () => {
  it("is pending, and has its account in both fields, and a pull policy", () => {
    const { spec, status } = prepared(definition, { ...pod({ serviceAccount: "bot" }), status: { phase: "Running" } });
    assert.deepEqual(status, { phase: "Pending" });
    assert.deepEqual([spec.serviceAccount, spec.serviceAccountName], ["bot", "bot"]);
    const policies = ["a", "a:latest", "a:1", "host:5000/a", "a@sha256:0"].map(
      (image) =>
        prepared(definition, pod({ containers: [{ name: "c", image, resources: {} }] })).spec.containers?.[0]
          ?.imagePullPolicy,
    );
    assert.deepEqual(policies, ["Always", "Always", "IfNotPresent", "Always", "IfNotPresent"]);
  });

  it("needs containers with names and images", () => {
    assert.deepEqual(faultsOfNew(definition, pod({ containers: null })), ["spec.containers: Required value"]);
    const twice = [
      { name: "c", resources: {} },
      { name: "c", image: "i", resources: {} },
    ];
    assert.deepEqual(faultsOfNew(definition, pod({ containers: twice })), [
      "spec.containers[0].image: Required value",
      'spec.containers[1].name: Duplicate value: "c"',
    ]);
  });

  it("cannot move to another node or account, and may change its image", () => {
    const previous = pod({ nodeName: "n", serviceAccountName: "bot" });
    for (const change of [{ nodeName: "m" }, { serviceAccountName: "admin" }]) {
      const [fault = ""] = faultsOfChange(definition, pod({ ...previous.spec, ...change }), previous);
      assert.match(fault, /^spec: Forbidden: pod updates may not change fields other than/);
    }
    const containers = [{ name: "c", image: "other", resources: {} }];
    assert.deepEqual(faultsOfChange(definition, pod({ ...previous.spec, containers }), previous), []);
  });
});

describe("the deletion of a pod", () => {
  const remove = (object: Pod, gracePeriodSeconds?: number): Pod | undefined =>
    definition.prepareForDelete?.(object, {
      ...context,
      ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    });
  const placed = pod({ nodeName: "n" });

  it("is immediate when it is on no node, has ended, or has no grace period", () => {
    assert.equal(remove(pod()), undefined);
    assert.equal(remove({ ...placed, status: { phase: "Succeeded" } }), undefined);
    assert.equal(remove(placed, 0), undefined);
  });

  it("keeps its deletion grace period for its node", () => {
    const { deletionTimestamp, deletionGracePeriodSeconds } = remove(placed)?.metadata ?? {};
    assert.deepEqual([deletionTimestamp, deletionGracePeriodSeconds], ["2026-03-04T05:06:37Z", 30]);
  });

  it("can only be shortened once it has begun", () => {
    const deleted = remove(placed);
    assert.ok(deleted);
    assert.equal(remove(deleted), deleted);
    assert.equal(remove(deleted, 60), deleted);
    assert.deepEqual(
      [remove(deleted, 10)?.metadata.deletionTimestamp, remove(deleted, 10)?.metadata.deletionGracePeriodSeconds],
      ["2026-03-04T05:06:17Z", 10],
    );
    assert.equal(remove(deleted, 0), undefined);
  });
});

describe("a pod's row", () => {
  const row = (status: Pod["status"], metadata: Pod["metadata"] = {}) =>
    cells(definition, { ...pod({ nodeName: "n" }), metadata, status }).slice(0, 4);
  const container = { name: "c", lastState: {}, ready: false, restartCount: 0, image: "", imageID: "" };

  it("shows the state of its containers", () => {
    assert.deepEqual(row({ phase: "Pending" }), ["0/1", "Pending", "0", "<unknown>"]);
    const [startedAt, finishedAt] = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"];
    const running = { ...container, ready: true, restartCount: 2, state: { running: { startedAt } } };
    assert.deepEqual(row({ phase: "Running", containerStatuses: [running] }), ["1/1", "Running", "2", "<unknown>"]);
    const failed = { ...container, state: { terminated: { exitCode: 3, startedAt, finishedAt } } };
    assert.deepEqual(row({ phase: "Failed", containerStatuses: [failed] })[1], "ExitCode:3");
    assert.deepEqual(row({ phase: "Running" }, { deletionTimestamp: "2026-03-04T05:06:07Z" })[1], "Terminating");
  });
});
