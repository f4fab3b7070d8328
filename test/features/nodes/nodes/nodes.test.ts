import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { nodeSchema } from "../../../../src/features/nodes/nodes/node-schema.ts";
import type { Node } from "../../../../src/features/nodes/nodes/node-schema.ts";
import { nodes } from "../../../../src/features/nodes/nodes/nodes.ts";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import { compileDecoder } from "../../../../src/machinery/schema/compile-decoder.ts";
import { cells, context, faultsOfChange, faultsOfNew, messages } from "../../resource-scene.ts";

const definition = nodes(platformNames);
const decode = compileDecoder(nodeSchema);
const node = (members: { readonly spec?: object; readonly status?: object }): Node =>
  decode({ apiVersion: "v1", kind: "Node", metadata: { name: "n" }, ...members }).value;

describe("the address ranges of a node", () => {
  const faults = (...podCIDRs: string[]): string[] => faultsOfNew(definition, node({ spec: { podCIDRs } }));
  const rule = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
  const pairRule = "may specify no more than one CIDR for each IP family";

  it("are one, or one for each IP family", () => {
    for (const ranges of [[], ["10.0.0.0/8"], ["fd00::/64", "10.0.0.0/8"]]) assert.deepEqual(faults(...ranges), []);
    for (const ranges of [
      ["10.0.0.0/8", "10.1.0.0/16"],
      ["10.0.0.0/8", "fd00::/64", "fd01::/64"],
    ]) {
      assert.deepEqual(faults(...ranges), [`spec.podCIDRs: Invalid value: ${JSON.stringify(ranges)}: ${pairRule}`]);
    }
  });

  it("are written as CIDR", () => {
    for (const range of [
      "x",
      "10.0.0.0",
      "10.0.0.0/33",
      "010.0.0.0",
      "::ffff:10.0.0.0/129",
      "fd00::%eth0/64",
      `${"0".repeat(1e6)}/8`,
    ]) {
      assert.ok(faults(range)[0]?.endsWith(`: ${rule}`), range.slice(0, 80));
    }
  });

  it("have no zeros before their numbers", () => {
    for (const range of ["010.0.0.0/8", "10.0.00.0/8", "10.0.0.0/08", "fd00::/064", "::ffff:010.0.0.0/104"]) {
      const detail = "must not have leading 0s in IP or prefix length";
      assert.deepEqual(faults(range), [`spec.podCIDRs[0]: Invalid value: ${JSON.stringify(range)}: ${detail}`]);
    }
    assert.deepEqual(faults("0fd0:0001::/64"), []);
  });

  it("begin at an address that their prefix has whole", () => {
    for (const range of ["10.0.0.0/24", "0.0.0.0/0", "10.0.0.5/32", "fd00::/9", "fd00::1/128"]) {
      assert.deepEqual(faults(range), []);
    }
    for (const range of ["10.0.0.5/24", "10.0.0.1/31", "1.0.0.0/0", "fd00::1/64", "fd80::/8"]) {
      const detail = "must not have bits set beyond the prefix length";
      assert.deepEqual(faults(range), [`spec.podCIDRs[0]: Invalid value: ${JSON.stringify(range)}: ${detail}`]);
    }
  });

  it("do not hide IPv4 in IPv6", () => {
    const detail = "must not have an IPv4-mapped IPv6 address";
    for (const range of ["::ffff:10.0.0.0/24", "::ffff:10.0.0.0/104"]) {
      assert.deepEqual(faults(range), [`spec.podCIDRs[0]: Invalid value: "${range}": ${detail}`]);
    }
  });

  it("are not looked at again when they are stored", () => {
    const stored = node({ spec: { podCIDRs: ["x"] } });
    assert.deepEqual(faultsOfChange(definition, { ...stored, metadata: { name: "n", labels: {} } }, stored), []);
    assert.deepEqual(faultsOfChange(definition, stored, node({})), [`spec.podCIDRs[0]: Invalid value: "x": ${rule}`]);
  });
});

describe("the features that a node declares", () => {
  const declaring = (...declaredFeatures: string[]): Node => node({ status: { declaredFeatures } });
  const faults = (...features: string[]): string[] =>
    faultsOfNew(definition, declaring(...features)).map((fault) => fault.replace(/: must start with .*/, ""));
  const unsorted = "list must be sorted alphabetically";

  it("are sorted names in camel case, each once", () => {
    assert.deepEqual(faults("A", "AB", "B/c", "C1/dE/F2"), []);
    assert.deepEqual(faults("B", "A", "A"), [
      `status.declaredFeatures[1]: Invalid value: "A": ${unsorted}`,
      'status.declaredFeatures[2]: Duplicate value: "A"',
    ]);
    for (const feature of ["", "a", "A/", "A/1", "A//b", "/A", "A_b", "A b", "A\n", "Ä"]) {
      const shown = JSON.stringify(feature);
      assert.deepEqual(faults(feature), [
        `status.declaredFeatures[0]: Invalid value: ${shown}: invalid feature name ${shown}`,
      ]);
    }
    assert.match(faults("A".repeat(254))[0] ?? "", /: must be no more than 253 characters$/);
  });

  it("are looked at when the status changes, and not again when they are stored", () => {
    const { status } = definition.subresources ?? {};
    assert.ok(status?.type === "update");
    const update = { ...context, previous: declaring("b", "a") };
    assert.deepEqual(status.validateUpdate?.(declaring("b", "a"), update), ["metadata change"]);
    assert.equal(status.validateUpdate?.(declaring("b"), update)?.length, 2);
  });
});

describe("the configuration of a node, which Kubernetes no longer has", () => {
  const configSource = { configMap: { namespace: "a", name: "b", kubeletConfigKey: "c" } };
  const configured = node({ spec: { configSource }, status: { config: { error: "e" } } });
  const plain = node({});
  const { status } = definition.subresources ?? {};
  const changed = (previous: Node): Node =>
    definition.prepareForUpdate?.(configured, { ...context, previous }) ?? configured;
  const reported = (previous: Node): Node => {
    assert.ok(status?.type === "update");
    return status.prepareForUpdate(configured, { ...context, previous });
  };

  it("is not stored", () => {
    const { spec, status: created } = definition.prepareForCreate?.(configured, context) ?? configured;
    assert.deepEqual([spec.configSource, created.config], [undefined, undefined]);
    assert.equal(changed(plain).spec.configSource, undefined);
    assert.equal(reported(plain).status.config, undefined);
  });

  it("stays where it is stored", () => {
    assert.deepEqual(changed(configured).spec.configSource, configSource);
    assert.deepEqual(reported(configured).status.config, { error: "e" });
  });
});

describe("the resources of a node", () => {
  const counted = { pods: "1500m", "example.com/gpu": "500m", cpu: "500m", "platform.io/batch": "500m" };
  const faultsOfCounted = ["example.com/gpu", "pods"].map(
    (name) => `status.capacity.${name}: Invalid value: "${name === "pods" ? "1500m" : "500m"}": must be an integer`,
  );

  it("are not negative, and whole where they are counted", () => {
    assert.deepEqual(faultsOfNew(definition, node({ status: { allocatable: { cpu: "-1" } } })), [
      'status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0',
    ]);
    assert.deepEqual(
      faultsOfNew(definition, node({ status: { capacity: counted, allocatable: { cpu: "1" } } })),
      faultsOfCounted,
    );
  });

  it("are looked at when a report changes them", () => {
    const { status } = definition.subresources ?? {};
    assert.ok(status?.type === "update");
    const [before, after] = [node({}), node({ status: { capacity: counted } })];
    const faults = (next: Node, previous: Node): string[] =>
      messages(status.validateUpdate?.(next, { ...context, previous }));
    assert.deepEqual(faults(after, before), faultsOfCounted);
    assert.deepEqual(faults(after, after), []);
  });

  it("come behind the metadata in the faults of a report, as upstream", () => {
    const { status } = definition.subresources ?? {};
    assert.ok(status?.type === "update");
    const after = node({ status: { capacity: { cpu: "-1" } } });
    const [first, second] = status.validateUpdate?.(after, { ...context, previous: node({}) }) ?? [];
    assert.equal(first, "metadata change");
    assert.deepEqual(messages([second ?? "no metadata"]), [
      'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
    ]);
  });
});

describe("a node's row", () => {
  it("shows its architecture behind its kernel", () => {
    const kernel = (nodeInfo: object): unknown => cells(definition, node({ status: { nodeInfo } })).at(-2);
    assert.equal(kernel({ kernelVersion: "6.1.0", architecture: "arm64" }), "6.1.0 (arm64)");
    assert.equal(kernel({ architecture: "arm64" }), "<unknown> (arm64)");
    assert.equal(kernel({ kernelVersion: "6.1.0" }), "6.1.0");
  });
});
