import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { podSchema } from "../../../../src/features/nodes/pods/schema/pod-schema.ts";
import type { Pod } from "../../../../src/features/nodes/pods/schema/pod-schema.ts";
import { compileDecoder } from "../../../../src/machinery/schema/compile-decoder.ts";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import { podDefaults } from "../../../../src/features/nodes/pods/pod-defaults.ts";
import { pods } from "../../../../src/features/nodes/pods/pods.ts";
import { cells, context, faultsOfChange, faultsOfNew, messages, prepared } from "../../resource-scene.ts";

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

  it("has values that Kubernetes knows, and numbers in their ranges", () => {
    const faults = (spec: Partial<Pod["spec"]>): string[] => faultsOfNew(definition, pod(spec));
    const range = "must be between 0 and 2147483647, inclusive";
    assert.deepEqual(faults({ restartPolicy: "Never", dnsPolicy: "None", activeDeadlineSeconds: 1 }), []);
    assert.deepEqual(faults({ restartPolicy: "Once", dnsPolicy: "Own", activeDeadlineSeconds: 0 }), [
      'spec.restartPolicy: Unsupported value: "Once": supported values: "Always", "OnFailure", "Never"',
      'spec.dnsPolicy: Unsupported value: "Own": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
      "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
    ]);
    assert.deepEqual(faults({ securityContext: { runAsUser: -1, supplementalGroups: [5, 2 ** 31] } }), [
      `spec.securityContext.runAsUser: Invalid value: -1: ${range}`,
      `spec.securityContext.supplementalGroups[1]: Invalid value: 2147483648: ${range}`,
    ]);
    const container = { name: "c", image: "image", resources: {} };
    const ports = [
      { containerPort: 80, hostPort: 0 },
      { containerPort: 0, hostPort: 70_000, protocol: "ICMP" },
    ];
    const securityContext = { runAsGroup: -1, seccompProfile: { type: "" }, appArmorProfile: { type: "Own" } };
    assert.deepEqual(faults({ containers: [{ ...container, ports, imagePullPolicy: "Once", securityContext }] }), [
      "spec.containers[0].ports[1].containerPort: Required value",
      "spec.containers[0].ports[1].hostPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
      'spec.containers[0].ports[1].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
      'spec.containers[0].imagePullPolicy: Unsupported value: "Once": supported values: "Always", "IfNotPresent", "Never"',
      `spec.containers[0].securityContext.runAsGroup: Invalid value: -1: ${range}`,
      "spec.containers[0].securityContext.seccompProfile.type: Required value: type is required when seccompProfile is set",
      'spec.containers[0].securityContext.appArmorProfile.type: Unsupported value: "Own": supported values: "Localhost", "RuntimeDefault", "Unconfined"',
    ]);
    const other = prepared(definition, decode(pod({ restartPolicy: "Once" })).value);
    assert.deepEqual(faultsOfChange(definition, other, other), []);
  });

  it("has tolerations and environment variables that have a meaning, unless they are stored already", () => {
    const wrong: Pod["spec"]["tolerations"] = [
      {},
      { key: "a b", operator: "Exists", value: "v" },
      { key: "a", value: "v w", effect: "Never", tolerationSeconds: 5 },
      { key: "a", operator: "Is" },
      { key: "a", operator: "Lt", value: "5" },
    ];
    const shortened = (faults: readonly string[]): string[] => faults.map((fault) => fault.slice(0, 96));
    const env = [{ name: "A B" }, { name: "" }, { name: "A=" }];
    const made = pod({ containers: [{ name: "c", image: "image", resources: {}, env }], tolerations: wrong });
    assert.deepEqual(shortened(faultsOfNew(definition, made)), [
      "spec.containers[0].env[1].name: Required value",
      'spec.containers[0].env[2].name: Invalid value: "A=": a valid environment variable name must cons',
      'spec.tolerations[0].operator: Invalid value: "": operator must be Exists when `key` is empty, wh',
      'spec.tolerations[1].key: Invalid value: "a b": name part must consist of alphanumeric characters',
      'spec.tolerations[1].operator: Invalid value: "v": value must be empty when `operator` is \'Exists',
      "spec.tolerations[2].effect: Invalid value: \"Never\": effect must be 'NoExecute' when `tolerationS",
      'spec.tolerations[2].operator: Invalid value: "v w": a valid label must be an empty string or con',
      'spec.tolerations[2].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferN',
      'spec.tolerations[3].operator: Unsupported value: "Is": supported values: "Equal", "Exists"',
      'spec.tolerations[4].operator: Unsupported value: "Lt": supported values: "Equal", "Exists"',
    ]);
    const stored = decode(made).value;
    assert.deepEqual(faultsOfChange(definition, prepared(definition, stored), prepared(definition, stored)), []);
    const more = prepared(definition, { ...stored, spec: { ...stored.spec, tolerations: [...wrong, { key: "b c" }] } });
    assert.deepEqual(shortened(faultsOfChange(definition, more, prepared(definition, stored))), [
      'spec.tolerations[5].key: Invalid value: "b c": name part must consist of alphanumeric characters',
    ]);
  });

  it("has volumes with one source and a name of their own", () => {
    const faultsOf = (...volumes: NonNullable<Pod["spec"]["volumes"]>): string[] =>
      faultsOfNew(definition, decode(pod({ volumes })).value);
    const emptyDir = {};
    assert.deepEqual(faultsOf({ name: "a", emptyDir }, { name: "b", secret: { secretName: "s" } }, { name: "c" }), []);
    assert.deepEqual(faultsOf({ name: "", emptyDir }, { name: "a.b", emptyDir }, { name: "a.b", emptyDir }), [
      "spec.volumes[0].name: Required value",
      'spec.volumes[1].name: Invalid value: "a.b": must not contain dots',
      'spec.volumes[2].name: Invalid value: "a.b": must not contain dots',
    ]);
    assert.deepEqual(faultsOf({ name: "a", emptyDir }, { name: "a", emptyDir }), [
      'spec.volumes[1].name: Duplicate value: "a"',
    ]);
    assert.deepEqual(faultsOf({ name: "a", secret: {}, cephfs: { monitors: [] }, emptyDir }), [
      "spec.volumes[0].secret: Forbidden: may not specify more than 1 volume type",
      "spec.volumes[0].cephFS: Forbidden: may not specify more than 1 volume type",
    ]);
  });

  it("waits for its scheduling gates, which have names of their own, before it gets a node", () => {
    const schedulingGates = [{ name: "example.com/a" }, { name: "example.com/a" }, { name: "a b" }];
    assert.deepEqual(
      faultsOfNew(definition, pod({ schedulingGates, nodeName: "n" })).map((fault) => fault.slice(0, 80)),
      [
        'spec.schedulingGates[1]: Duplicate value: "example.com/a"',
        'spec.schedulingGates[2]: Invalid value: "a b": name part must consist of alphanu',
        "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been clea",
      ],
    );
    const { status } = prepared(definition, pod({ schedulingGates: schedulingGates.slice(0, 1) }));
    assert.deepEqual(
      status.conditions?.map(({ type, status, reason }) => [type, status, reason]),
      [["PodScheduled", "False", "SchedulingGated"]],
    );
  });

  const statusFaults = (next: Pod["status"], before: Pod["status"] = {}): string[] => {
    const { status } = definition.subresources ?? {};
    assert.ok(status?.type === "update");
    const previous = pod({ nodeName: "n" });
    return messages(
      status.validateUpdate?.({ ...previous, status: next }, { ...context, previous: { ...previous, status: before } }),
    );
  };

  it("reports only conditions that have a name, and no generation below zero", () => {
    const time = "2026-01-01T00:00:00Z";
    const condition = { type: "example.com/Ready", status: "True", lastProbeTime: time, lastTransitionTime: time };
    assert.deepEqual(statusFaults({ conditions: [condition], observedGeneration: 1 }), []);
    const nonsense = {
      conditions: [condition, { ...condition, type: "x/y/z", observedGeneration: -1 }],
      observedGeneration: -1,
    };
    assert.deepEqual(statusFaults(nonsense, nonsense), [], "what is stored");
    const faults = statusFaults(nonsense);
    assert.deepEqual(
      faults.map((fault) => fault.slice(0, fault.indexOf(": ", fault.indexOf("value: ") + 7))),
      [
        "status.conditions[1].observedGeneration: Invalid value: -1",
        'status.conditions[1].Type: Invalid value: "x/y/z"',
        "status.observedGeneration: Invalid value: -1",
      ],
    );
  });

  it("keeps its quality of service, and is nominated for no node when it has one", () => {
    assert.deepEqual(statusFaults({ nominatedNodeName: "m" }), [
      "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node",
    ]);
    assert.deepEqual(statusFaults({ nominatedNodeName: "m" }, { nominatedNodeName: "m" }), []);
    assert.deepEqual(statusFaults({ qosClass: "BestEffort" }), []);
    assert.deepEqual(statusFaults({ qosClass: "Guaranteed" }, { qosClass: "BestEffort" }), [
      'status.qosClass: Invalid value: "Guaranteed": field is immutable',
    ]);
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
    assert.equal(tolerations?.length, 2);
  });

  it("has the priority of its class, as far as the class is known", () => {
    const priorityOf = (spec: Partial<Pod["spec"]>): unknown[] => {
      const { priority, preemptionPolicy } = prepared(definition, pod(spec)).spec;
      return [priority, preemptionPolicy];
    };
    assert.deepEqual(priorityOf({ priorityClassName: "system-node-critical" }), [
      2_000_001_000,
      "PreemptLowerPriority",
    ]);
    assert.deepEqual(priorityOf({ priorityClassName: "system-cluster-critical" }), [
      2_000_000_000,
      "PreemptLowerPriority",
    ]);
    assert.deepEqual(priorityOf({ priorityClassName: "other" }), [undefined, undefined]);
  });

  it("has an empty directory for a volume without a source, a policy for its images, and a second to end at least", () => {
    const volumes = [{ name: "empty" }, { name: "keys", secret: { secretName: "s" } }];
    const { spec } = podDefaults(pod({ volumes, terminationGracePeriodSeconds: -5 }));
    assert.deepEqual(spec.volumes, [{ name: "empty", emptyDir: {} }, volumes[1]]);
    assert.equal(spec.terminationGracePeriodSeconds, 1);
    const policiesOf = (reference: string): unknown =>
      podDefaults(pod({ volumes: [{ name: "v", image: { reference } }] })).spec.volumes?.[0]?.image?.pullPolicy;
    assert.deepEqual(["a", "a:1"].map(policiesOf), ["Always", "IfNotPresent"]);
  });

  it("has the ports of its containers on its node when it uses the network of its node", () => {
    const ports = [
      { containerPort: 80, protocol: "TCP" },
      { containerPort: 81, hostPort: 82, protocol: "TCP" },
    ];
    const one = { name: "c", image: "image", resources: {}, ports };
    const hostPorts = (hostNetwork: boolean): unknown => {
      const { spec } = podDefaults(pod({ hostNetwork, containers: [one], initContainers: [one] }));
      return [spec.containers, spec.initContainers].map((all) => all?.[0]?.ports?.map(({ hostPort }) => hostPort));
    };
    assert.deepEqual(hostPorts(true), [
      [80, 82],
      [80, 82],
    ]);
    assert.deepEqual(hostPorts(false), [
      [undefined, 82],
      [undefined, 82],
    ]);
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

  it("needs init containers with other names than its containers; a stored Pod without them can still be changed", () => {
    const initContainers = [{ name: "c", image: "i", resources: {} }];
    const same = decode(pod({ initContainers })).value;
    const fault = 'spec.initContainers[0].name: Duplicate value: "c"';
    assert.deepEqual(faultsOfNew(definition, pod({ initContainers })), [fault]);
    const previous = prepared(definition, same);
    assert.deepEqual(
      faultsOfChange(definition, { ...previous, spec: { ...previous.spec, activeDeadlineSeconds: 5 } }, previous),
      [],
    );
  });

  it("can be selected by its addresses, which are empty there as upstream's are", () => {
    assert.equal(definition.selectableFields?.["status.podIPs"]?.(decode(pod({})).value), "");
  });

  it("needs images without blanks at their ends", () => {
    const image = (text: string) => pod({ containers: [{ name: "c", image: text, resources: {} }] });
    assert.deepEqual(faultsOfNew(definition, image(" i")), [paddedImage]);
    assert.deepEqual(faultsOfNew(definition, image("a b")), []);
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

const paddedImage = 'spec.containers[0].image: Invalid value: " i": must not have leading or trailing whitespace';
const at = "2026-01-01T00:00:00Z";
const condition = (type: string, more: object = {}) => ({
  type,
  status: "True",
  lastProbeTime: at,
  lastTransitionTime: at,
  ...more,
});

describe("an update of a pod", () => {
  const faults = (next: Partial<Pod["spec"]>, before: Partial<Pod["spec"]>): string[] => {
    const previous = prepared(definition, decode(pod(before)).value);
    return faultsOfChange(definition, pod({ ...previous.spec, ...next }), previous);
  };

  it("neither adds nor removes containers", () => {
    const two = ["c", "d"].map((name) => ({ name, image: "image", resources: {} }));
    assert.deepEqual(faults({ containers: two }, {}), [
      "spec.containers: Forbidden: pod updates may not add or remove containers",
    ]);
    assert.deepEqual(faults({ initContainers: two }, {}), [
      "spec.initContainers: Forbidden: pod updates may not add or remove containers",
    ]);
    assert.deepEqual(faults({ containers: [...two, { name: "e", resources: {} }] }, {}), [
      "spec.containers[2].image: Required value",
      "spec.containers: Forbidden: pod updates may not add or remove containers",
    ]);
  });

  it("adds no blanks to the ends of an image, and may keep those that are stored", () => {
    const containers = (prepared(definition, decode(pod({})).value).spec.containers ?? []).map((one) => ({
      ...one,
      image: " i",
    }));
    assert.deepEqual(faults({ containers }, {}), [paddedImage, paddedImage]);
    assert.deepEqual(faults({ activeDeadlineSeconds: 5 }, { containers }), []);
  });

  it("adds tolerations, and changes only how long the others last", () => {
    const tolerations = [{ key: "a", operator: "Exists", effect: "NoExecute" }];
    const before = prepared(definition, pod({ tolerations })).spec.tolerations ?? [];
    const later = before.map((one) => ({ ...one, tolerationSeconds: 7 }));
    assert.deepEqual(faults({ tolerations: [...later, { key: "b", operator: "Exists" }] }, { tolerations }), []);
    for (const changed of [[], before.slice(1), before.map((one) => ({ ...one, value: "x" }))]) {
      assert.deepEqual(faults({ tolerations: changed }, { tolerations }), [
        "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
      ]);
    }
  });

  it("brings its deadline closer, and never takes it away", () => {
    assert.deepEqual(faults({ activeDeadlineSeconds: 5 }, {}), []);
    assert.deepEqual(faults({ activeDeadlineSeconds: 4 }, { activeDeadlineSeconds: 5 }), []);
    const field = "spec.activeDeadlineSeconds: Invalid value:";
    assert.deepEqual(faults({ activeDeadlineSeconds: 6 }, { activeDeadlineSeconds: 5 }), [
      `${field} 6: must be less than or equal to previous value`,
    ]);
    for (const seconds of [-1, 0]) {
      assert.deepEqual(faults({ activeDeadlineSeconds: seconds }, {}), [
        `${field} ${seconds}: must be between 1 and 2147483647, inclusive`,
      ]);
    }
    const previous = prepared(definition, decode(pod({ activeDeadlineSeconds: 5 })).value);
    const { activeDeadlineSeconds: _none, ...rest } = previous.spec;
    assert.deepEqual(faultsOfChange(definition, pod(rest), previous), [
      `${field} null: must not update from a positive integer to nil value`,
    ]);
  });

  it("takes scheduling gates away, and adds none", () => {
    const gates = (...names: readonly string[]) => ({ schedulingGates: names.map((name) => ({ name })) });
    assert.deepEqual(faults(gates("b"), gates("a", "b")), []);
    assert.deepEqual(faults(gates(), gates("a")), []);
    assert.deepEqual(faults(gates("a", "c"), gates("a", "b")), [
      "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'c'",
    ]);
  });

  it("leaves a gated pod fewer nodes, and no other pod", () => {
    const [schedulingGates, no] = [[{ name: "a" }], "may not change fields other than"];
    const terms = (...keys: readonly (readonly string[])[]) => ({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: keys.map((some) => ({
              matchExpressions: some.map((key) => ({ key, operator: "Exists" })),
            })),
          },
        },
      },
    });
    const changed = (next: Partial<Pod["spec"]>, before: Partial<Pod["spec"]>): string[] =>
      faults({ ...next, schedulingGates }, { ...before, schedulingGates });
    assert.deepEqual(changed({ nodeSelector: { a: "1", b: "2" } }, { nodeSelector: { a: "1" } }), []);
    assert.deepEqual(changed({ nodeSelector: { b: "2" } }, { nodeSelector: { a: "1" } }), [
      'spec.nodeSelector: Invalid value: {"b":"2"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)',
    ]);
    assert.deepEqual(changed(terms(["a"], ["b"]), {}), []);
    assert.deepEqual(changed(terms(["a", "c"], ["b"]), terms(["a"], ["b"])), []);
    const field = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    assert.match(changed(terms(["a"]), terms(["a"], ["b"])).join(), /no additions\/deletions to non-empty/);
    for (const [next, before] of [
      [["c", "a"], ["a"]],
      [[], ["a"]],
      [["a"], []],
    ] as const) {
      const [fault = "", ...others] = changed(terms(next), terms(before));
      assert.deepEqual(others, []);
      assert.ok(fault.startsWith(`${field}[0]: Invalid value: `), fault);
      assert.ok(fault.endsWith("only additions are allowed (no mutations or deletions)"), fault);
    }
    assert.match(changed({ hostNetwork: true }, {}).join(), new RegExp(no));
    assert.match(faults({ nodeSelector: { a: "1" } }, {}).join(), new RegExp(no));
    assert.match(faults(terms(["a"]), {}).join(), new RegExp(no));
  });

  it("of its status changes neither its owners nor the time of its deletion", () => {
    const status = definition.subresources?.["status"];
    assert.ok(status?.type === "update");
    const owner = { apiVersion: "v1", kind: "Node", name: "n", uid: "u" };
    const kept = (sent: Pod["metadata"], before: Pod["metadata"]): Pod["metadata"] => {
      const previous = { ...pod(), metadata: { name: "p", ...before } };
      const { metadata } = status.prepareForUpdate(
        { ...pod(), metadata: { name: "p", ...sent } },
        { ...context, previous },
      );
      return metadata;
    };
    const sent = { labels: { a: "b" }, deletionTimestamp: "2026-03-04T05:06:07Z", ownerReferences: [owner] };
    assert.deepEqual(kept(sent, {}), { name: "p", labels: { a: "b" } });
    const before = { deletionTimestamp: "2026-01-02T03:04:05Z", ownerReferences: [{ ...owner, uid: "v" }] };
    for (const one of [sent, { labels: { a: "b" } }]) {
      assert.deepEqual(kept(one, before), { name: "p", labels: { a: "b" }, ...before });
    }
  });

  it("of its status keeps the class, and the generations that were reported, when it leaves them out", () => {
    const ready = condition("Ready");
    const previous: Pod = {
      ...pod(),
      status: {
        phase: "Running",
        qosClass: "Burstable",
        observedGeneration: 3,
        conditions: [{ ...ready, observedGeneration: 2 }],
      },
    };
    const status = definition.subresources?.["status"];
    assert.ok(status?.type === "update");
    const reported = (next: Pod["status"]): Pod["status"] =>
      status.prepareForUpdate({ ...pod(), status: next }, { ...context, previous }).status;
    assert.deepEqual(reported({ phase: "Failed", conditions: [ready, ready] }), {
      phase: "Failed",
      qosClass: "Burstable",
      observedGeneration: 3,
      conditions: [{ ...ready, observedGeneration: 2 }, ready],
    });
    const own = { qosClass: "Guaranteed", observedGeneration: 4, conditions: [{ ...ready, observedGeneration: 4 }] };
    assert.deepEqual(reported(own), own);
  });
});

describe("the deletion of a pod", () => {
  const seconds = (object: Pod, requested?: number) => definition.gracePeriodSeconds?.(object, requested);
  const placed = pod({ nodeName: "n" });

  it("gives a pod on a node its own period, or the one that the client asks for", () => {
    assert.deepEqual([seconds(placed), seconds(placed, 5), seconds(placed, 0)], [30, 5, 0]);
    assert.equal(seconds(pod({ nodeName: "n", terminationGracePeriodSeconds: -1 })), 1);
  });

  it("gives no time to a pod that is on no node, or has ended", () => {
    assert.deepEqual([seconds(pod()), seconds(pod(), 5)], [0, 0]);
    assert.equal(seconds({ ...placed, status: { phase: "Succeeded" } }), 0);
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

  it("counts init containers until all are through, and the sidecars among them as the others", () => {
    const initContainers = [
      { name: "setup", image: "i", resources: {} },
      { name: "proxy", image: "i", resources: {}, restartPolicy: "Always" },
    ];
    const shown = (status: Pod["status"]) => cells(definition, { ...pod({ initContainers }), status }).slice(0, 3);
    const ended = (name: string, exitCode: number, reason = "") => ({
      ...container,
      name,
      restartCount: 2,
      state: { terminated: { exitCode, reason, startedAt: at, finishedAt: at } },
    });
    const waiting = (name: string, reason: string) => ({ ...container, name, state: { waiting: { reason } } });
    const proxy = {
      ...container,
      name: "proxy",
      restartCount: 3,
      ready: true,
      started: true,
      state: { running: { startedAt: at } },
    };
    const running = { ...container, ready: true, restartCount: 1, state: { running: { startedAt: at } } };

    assert.deepEqual(shown({ phase: "Pending" }), ["0/2", "Pending", "0"]);
    const first = (one: ReturnType<typeof waiting>) => shown({ phase: "Pending", initContainerStatuses: [one] });
    assert.deepEqual(first(waiting("setup", "PodInitializing")), ["0/2", "Init:0/2", "0"]);
    assert.deepEqual(first(waiting("setup", "ImagePullBackOff")), ["0/2", "Init:ImagePullBackOff", "0"]);
    assert.deepEqual(shown({ phase: "Pending", initContainerStatuses: [ended("setup", 3)] }), [
      "0/2",
      "Init:ExitCode:3",
      "2",
    ]);
    const initContainerStatuses = [ended("setup", 0, "Completed"), proxy];
    assert.deepEqual(shown({ phase: "Running", initContainerStatuses, containerStatuses: [running] }), [
      "2/2",
      "Running",
      "4",
    ]);
    const conditions = [condition("Initialized")];
    assert.deepEqual(
      shown({ phase: "Running", conditions, initContainerStatuses: [ended("setup", 3)], containerStatuses: [running] }),
      ["1/2", "Init:ExitCode:3", "1"],
    );
  });

  it("says why it does not run, or that only some of it does", () => {
    const done = {
      ...container,
      state: { terminated: { exitCode: 0, reason: "Completed", startedAt: at, finishedAt: at } },
    };
    const running = { ...container, name: "d", ready: true, state: { running: { startedAt: at } } };
    const containerStatuses = [done, running];
    assert.equal(
      row({ phase: "Pending", conditions: [condition("PodScheduled", { reason: "SchedulingGated" })] })[1],
      "SchedulingGated",
    );
    assert.equal(row({ phase: "Running", containerStatuses })[1], "NotReady");
    assert.equal(row({ phase: "Running", containerStatuses, conditions: [condition("Ready")] })[1], "Running");
  });

  it("says that a container has failed when the one before it is through", () => {
    const ended = (exitCode: number, reason: string) => ({
      ...container,
      state: { terminated: { exitCode, reason, startedAt: at, finishedAt: at } },
    });
    const containerStatuses = [ended(0, "Completed"), ended(1, "Error"), ended(137, "OOMKilled")];
    assert.equal(row({ phase: "Failed", containerStatuses })[1], "Error");
    const running = { ...container, ready: true, state: { running: { startedAt: at } } };
    assert.equal(row({ phase: "Running", containerStatuses: [...containerStatuses, running] })[1], "Error");
    assert.equal(row({ phase: "Succeeded", containerStatuses: [ended(0, "Completed")] })[1], "Completed");
  });

  it("tells programs that it has ended", () => {
    const conditions = (phase: string) => definition.rowConditions?.({ ...pod(), status: { phase } });
    const completed = { type: "Completed", status: "True" };
    assert.deepEqual(conditions("Running"), []);
    assert.deepEqual(conditions("Failed"), [{ ...completed, reason: "Failed", message: "The pod failed." }]);
    assert.deepEqual(conditions("Succeeded"), [
      { ...completed, reason: "Succeeded", message: "The pod has completed successfully." },
    ]);
  });
});
