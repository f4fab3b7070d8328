import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { forbiddenNodeLabels } from "../../../../src/features/nodes/restriction/node-labels.ts";
import { kubernetesNames, namesFor, platformNames } from "../../../../src/machinery/api/names.ts";

/** What of some new labels a node must not set. */
const forbiddenIn = (names: typeof platformNames, keys: readonly string[]): string[] =>
  forbiddenNodeLabels(names, { next: Object.fromEntries(keys.map((key) => [key, "x"])) });

/** What a node may say of its machine (upstream: `kubeletapis.IsKubeletLabel`). */
const ofMachine = [
  "kubernetes.io/hostname",
  "kubernetes.io/arch",
  "kubernetes.io/os",
  "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
  "beta.kubernetes.io/instance-type",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
  "kubelet.kubernetes.io/a",
  "node.kubernetes.io/instance-type",
];
const attracting = [
  "a.k8s.io/b",
  "k8s.io/a",
  "kubernetes.io/role",
  "topology.kubernetes.io/rack",
  "x.node.kubernetes.io.kubernetes.io/a",
];
const ofOthers = ["kubernetes.io", "notkubernetes.io/a", "notk8s.io/a", "example.com/kubernetes.io"];
const inOurSpelling = (keys: readonly string[]): string[] =>
  keys.map((key) => key.replaceAll("kubernetes.io", platformNames.domain));

describe("the labels that a node must not set on itself", () => {
  it("are those of the domain that say nothing of its machine, in the profile kubernetes also those below k8s.io", () => {
    assert.deepEqual(forbiddenIn(kubernetesNames, [...ofMachine, ...attracting, ...ofOthers]), attracting);
    const own = inOurSpelling([...ofMachine, ...attracting, ...ofOthers]);
    assert.deepEqual(forbiddenIn(platformNames, own), inOurSpelling(attracting.slice(2)));
  });

  it("are those of both domains where the server knows both spellings", () => {
    const both = namesFor("platform", { hasUpstreamNames: true });
    const keys = [...attracting, ...inOurSpelling(attracting.slice(2))].toSorted();
    assert.deepEqual(forbiddenIn(both, [...ofMachine, ...inOurSpelling(ofMachine), ...keys]), keys);
  });
});
