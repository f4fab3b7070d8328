import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { podSchema } from "../../../src/features/nodes/pods/pod-schema.ts";
import type { Pod } from "../../../src/features/nodes/pods/pod-schema.ts";
import { compileDecoder } from "../../../src/machinery/schema/compile-decoder.ts";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { podDefaults } from "../../../src/features/nodes/pods/pod-defaults.ts";
import { pods } from "../../../src/features/nodes/pods/pods.ts";
import { cells, context, faultsOfChange, faultsOfNew, prepared } from "../resource-scene.ts";

const definition = pods(platformNames);
const decode = compileDecoder(podSchema);
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
    assert.deepEqual(status, { phase: "Pending", qosClass: "BestEffort" });
    assert.deepEqual([spec.serviceAccount, spec.serviceAccountName], ["bot", "bot"]);
    const policies = ["a", "a:latest", "a:1", "host:5000/a", "a@sha256:0"].map(
      (image) =>
        prepared(definition, pod({ containers: [{ name: "c", image, resources: {} }] })).spec.containers?.[0]
          ?.imagePullPolicy,
    );
    assert.deepEqual(policies, ["Always", "Always", "IfNotPresent", "Always", "IfNotPresent"]);
  });

  it("tolerates lost nodes for five minutes, unless it says something else of them", () => {
    const tolerations = (sent: Pod["spec"]["tolerations"] = []): unknown =>
      prepared(definition, pod({ tolerations: sent })).spec.tolerations?.map(({ key, tolerationSeconds }) => [
        key,
        tolerationSeconds,
      ]);
    assert.deepEqual(tolerations(), [
      ["node.platform.io/not-ready", 300],
      ["node.platform.io/unreachable", 300],
    ]);
    const own = { key: "node.platform.io/unreachable", effect: "NoExecute", tolerationSeconds: 5 };
    assert.deepEqual(tolerations([own]), [
      [own.key, 5],
      ["node.platform.io/not-ready", 300],
    ]);
    assert.deepEqual(tolerations([{ operator: "Exists" }]), [[undefined, undefined]]);
  });

  it("asks for what it is limited to, and is of a class by both", () => {
    const made = (...resources: NonNullable<Pod["spec"]["containers"]>[number]["resources"][]): Pod =>
      prepared(definition, pod({ containers: resources.map((one, index) => ({ name: `c${index}`, resources: one })) }));
    const limits = { cpu: "1", memory: "1Gi" };
    assert.deepEqual(made({ limits, requests: { cpu: "500m" } }).spec.containers?.[0]?.resources.requests, {
      cpu: "500m",
      memory: "1Gi",
    });
    const classOf = (...resources: Parameters<typeof made>): unknown => made(...resources).status.qosClass;
    assert.equal(classOf({}, { requests: { cpu: "0" } }), "BestEffort");
    assert.equal(classOf({ limits }, { limits }), "Guaranteed");
    assert.equal(classOf({ limits }, {}), "Burstable");
    assert.equal(classOf({ limits: { cpu: "1" } }), "Burstable");
    assert.equal(classOf({ limits, requests: { cpu: "500m" } }), "Burstable");
  });

  it("keeps what the server said of it when an update leaves it out, and counts the changes of its spec", () => {
    const previous = prepared(definition, pod());
    const { priority, preemptionPolicy, tolerations, ...sent } = previous.spec;
    assert.deepEqual([priority, preemptionPolicy, previous.metadata.generation], [0, "PreemptLowerPriority", 1]);
    const update = (spec: Pod["spec"]): Pod | undefined =>
      definition.prepareForUpdate?.({ ...previous, spec }, { ...context, previous });
    assert.deepEqual(update(sent), previous);
    assert.equal(update({ ...sent, activeDeadlineSeconds: 5 })?.metadata.generation, 2);
    assert.equal(prepared(definition, pod({ priorityClassName: "other" })).spec.priority, undefined);
    assert.equal(tolerations?.length, 2);
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

  it("that an earlier version stored, with quantities as they were sent, can still be changed", () => {
    const limited = (cpu: string): Pod =>
      pod({ containers: [{ name: "c", image: "image", resources: { limits: { cpu } } }] });
    const sent = (cpu: string): Pod => podDefaults(decode(limited(cpu)).value);
    assert.deepEqual(faultsOfChange(definition, sent("1"), limited("1000m")), []);
    assert.equal(faultsOfChange(definition, sent("2"), limited("1000m")).length, 1);
  });

  it("cannot move to another node or account, and may change its image", () => {
    const previous = prepared(definition, decode(pod({ nodeName: "n", serviceAccountName: "bot" })).value);
    for (const change of [{ nodeName: "m" }, { serviceAccountName: "admin" }]) {
      const [fault = ""] = faultsOfChange(definition, pod({ ...previous.spec, ...change }), previous);
      assert.match(fault, /^spec: Forbidden: pod updates may not change fields other than/);
    }
    const containers = (previous.spec.containers ?? []).map((one) => ({ ...one, image: "other" }));
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
