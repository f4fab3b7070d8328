import assert from "node:assert/strict";
import { before, beforeEach, it } from "node:test";
import { bothProfiles, describeKubectl } from "./kubectl-scene.ts";

describeKubectl("kubectl drain", bothProfiles, (kubectl) => {
  const flags = "--force --ignore-daemonsets --timeout=20s";
  before(async () => {
    await kubectl.output("create -f -", { input: '{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}' });
  });
  beforeEach(async () => {
    await kubectl.output("uncordon n1");
    const spec = { nodeName: "n1", containers: [{ name: "c", image: "i" }] };
    for (const name of ["one", "two"]) {
      await kubectl.output(`delete pod ${name} --ignore-not-found --force --grace-period=0`);
      const pod = { apiVersion: "v1", kind: "Pod", metadata: { name }, spec };
      await kubectl.output("create -f -", { input: JSON.stringify(pod) });
    }
  });
  const names = (): Promise<string> => kubectl.output("get pods -o name");

  it("evicts the Pods of a Node, and waits until the Node has ended them", async () => {
    const draining = kubectl.output(`drain n1 ${flags}`);
    for (const name of ["one", "two"]) {
      await kubectl.output(`wait pod ${name} --for=jsonpath={.metadata.deletionTimestamp} --timeout=20s`);
      // What a kubelet does once the containers have ended.
      await kubectl.output(`delete pod ${name} --force --grace-period=0`);
    }
    assert.match(await draining, /^evicting pod default\/one$[^]*^pod\/two evicted$[^]*^node\/n1 drained$/m);
    assert.equal(await kubectl.output("get node n1 -o jsonpath={.spec.unschedulable}"), "true");
  });

  it("evicts at once without a period", async () => {
    assert.match(await kubectl.output(`drain n1 ${flags} --grace-period=0`), /^node\/n1 drained$/m);
    assert.equal(await names(), "");
  });

  it("only tries it with --dry-run=server", async () => {
    const tried = await kubectl.output(`drain n1 ${flags} --dry-run=server`);
    assert.match(tried, /^evicting pod default\/one \(server dry run\)$[^]*^node\/n1 drained \(server dry run\)$/m);
    assert.equal(await names(), "pod/one\npod/two\n");
  });
});
