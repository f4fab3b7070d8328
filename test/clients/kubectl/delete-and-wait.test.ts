import assert from "node:assert/strict";
import { before, it } from "node:test";
import { bothProfiles, cells, describeKubectl, kubernetesOnly } from "./kubectl-scene.ts";
import type { KubectlOptions } from "./kubectl-scene.ts";

const configMap = (metadata: object): string => JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata });

describeKubectl("kubectl delete", kubernetesOnly, (kubectl) => {
  /** What it prints; since 1.34 kubectl names the namespace too. */
  const deletion = async (line: string, options?: KubectlOptions): Promise<string> =>
    (await kubectl.output(line, options)).replace(/ from \S+ namespace/, "");

  it("deletes by name, and reports objects that do not exist", async () => {
    await kubectl.output("create configmap one");
    assert.equal(await deletion("delete configmap one --wait"), 'configmap "one" deleted\n');
    assert.match(await kubectl.refusal("delete configmap one"), /configmaps "one" not found/);
    assert.equal(await deletion("delete configmap one --ignore-not-found"), "");
  });

  it("deletes nothing with --dry-run=server", async () => {
    await kubectl.output("create configmap tried");
    assert.equal(
      await deletion("delete configmap tried --dry-run=server"),
      'configmap "tried" deleted (server dry run)\n',
    );
    await kubectl.output("get configmap tried");
  });

  it("deletes by label, by file and everything of a kind", async () => {
    await kubectl.output("create namespace bin");
    await kubectl.output("create -n bin -f -", { input: configMap({ name: "by-label", labels: { app: "crane" } }) });
    await kubectl.output("create -n bin -f -", { input: configMap({ name: "by-file" }) });
    await kubectl.output("create role -n bin reader --verb=get --resource=secrets --dry-run=client");
    assert.equal(await deletion("delete cm -n bin -l app=crane"), 'configmap "by-label" deleted\n');
    const input = configMap({ name: "by-file" });
    assert.equal(await deletion("delete -n bin -f -", { input }), 'configmap "by-file" deleted\n');
    await kubectl.output("create secret generic door -n bin");
    assert.equal(await deletion("delete secrets --all -n bin"), 'secret "door" deleted\n');
  });

  for (const cascade of ["background", "foreground"]) {
    it(`deletes what an object owns with --cascade=${cascade}`, async () => {
      const owned = await familyOf(cascade);
      await deletion(`delete configmap ${cascade} --cascade=${cascade} --wait`);
      await kubectl.output(`wait --for=delete configmap/${owned} --timeout=20s`);
      await kubectl.refusal(`get configmap ${owned}`);
    });
  }

  it("leaves what an object owns with --cascade=orphan", async () => {
    const owned = await familyOf("orphan");
    await deletion("delete configmap orphan --cascade=orphan --wait");
    assert.equal(await kubectl.output(`get configmap ${owned} -o jsonpath={.metadata.ownerReferences}`), "");
  });

  it("deletes a namespace and then what is in it, as for a folder of files", async () => {
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } };
    const items = [
      namespace,
      ...["one", "two"].map((name) => JSON.parse(configMap({ name, namespace: "shop" })) as object),
    ];
    const input = JSON.stringify({ apiVersion: "v1", kind: "List", items });
    await kubectl.output("create -f -", { input });
    assert.equal((await kubectl.output("delete -f -", { input })).split("\n").length, 4);
    await kubectl.refusal("get namespace shop");
  });

  it("waits for finalizers, unless it is told not to", async () => {
    await kubectl.output("create -f -", { input: configMap({ name: "held", finalizers: ["example.com/hold"] }) });
    assert.equal(await deletion("delete configmap held --wait=false"), 'configmap "held" deleted\n');
    assert.match(await kubectl.output("get configmap held -o jsonpath={.metadata.deletionTimestamp}"), /^\d{4}-/);
    await kubectl.output('patch configmap held --type=merge -p {"metadata":{"finalizers":null}}');
    await kubectl.output("wait --for=delete configmap/held --timeout=20s");
  });

  it("deletes a Pod without grace by force", async () => {
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "worker" } };
    const spec = { nodeName: "edge-1", containers: [{ name: "main", image: "worker:1" }] };
    await kubectl.output("create -f -", { input: JSON.stringify({ ...pod, spec }) });
    assert.equal(await deletion("delete pod worker --grace-period=0 --force"), 'pod "worker" force deleted\n');
  });

  it("empties a namespace and waits until it has gone", async () => {
    await kubectl.output("create namespace doomed");
    await kubectl.output("create serviceaccount robot -n doomed");
    assert.equal(await deletion("delete namespace doomed --wait"), 'namespace "doomed" deleted\n');
    await kubectl.refusal("get namespace doomed");
    assert.equal((await kubectl.run("get sa -n doomed")).errors, "No resources found in doomed namespace.\n");
  });

  /** A ConfigMap of this name and one that it owns, whose name is returned. */
  async function familyOf(name: string): Promise<string> {
    await kubectl.output(`create configmap ${name}`);
    const uid = await kubectl.output(`get configmap ${name} -o jsonpath={.metadata.uid}`);
    const owner = { apiVersion: "v1", kind: "ConfigMap", name, uid, blockOwnerDeletion: true };
    await kubectl.output("create -f -", { input: configMap({ name: `${name}-owned`, ownerReferences: [owner] }) });
    return `${name}-owned`;
  }
});

describeKubectl("kubectl wait", bothProfiles, (kubectl) => {
  before(async () => {
    const status = { conditions: [{ type: "Ready", status: "True" }] };
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "edge-1" }, status };
    await kubectl.output("create -f -", { input: JSON.stringify(node) });
    await kubectl.output("create configmap settings --from-literal=colour=red");
  });

  it("waits for a condition", async () => {
    assert.equal(
      await kubectl.output("wait --for=condition=Ready node/edge-1 --timeout=20s"),
      "node/edge-1 condition met\n",
    );
  });

  it("times out on a condition that does not come", async () => {
    assert.equal(
      await kubectl.refusal("wait --for=condition=Retired node/edge-1 --timeout=100ms"),
      "error: timed out waiting for the condition on nodes/edge-1\n",
    );
  });

  it("waits for a value", async () => {
    const waiting = kubectl.output("wait --for=jsonpath={.data.colour}=green configmap/settings --timeout=20s");
    await kubectl.output('patch configmap settings -p {"data":{"colour":"green"}}');
    assert.equal(await waiting, "configmap/settings condition met\n");
  });

  it("waits for an object to be created", async () => {
    const waiting = kubectl.output("wait --for=create configmap/later --timeout=20s");
    await kubectl.output("create configmap later");
    assert.equal(await waiting, "configmap/later condition met\n");
  });

  it("waits until an object is deleted", async () => {
    await kubectl.output("create configmap going");
    const waiting = kubectl.output("wait --for=delete configmap/going --timeout=20s");
    await kubectl.output("delete configmap going");
    await waiting;
  });
});

describeKubectl("kubectl get --watch", bothProfiles, (kubectl) => {
  it("prints the existing objects, and then every change", async () => {
    await kubectl.output("create configmap settings --from-literal=colour=red");
    const watch = kubectl.follow("get configmap --watch --output-watch-events --field-selector metadata.name=settings");
    const next = async () => cells(await watch.next())[0]?.slice(0, 3);
    assert.deepEqual(await next(), ["EVENT", "NAME", "DATA"]);
    assert.deepEqual(await next(), ["ADDED", "settings", "1"]);
    await kubectl.output('patch configmap settings -p {"data":{"size":"2"}}');
    assert.deepEqual(await next(), ["MODIFIED", "settings", "2"]);
    await kubectl.output("delete configmap settings");
    assert.deepEqual(await next(), ["DELETED", "settings", "2"]);
    watch.end();
  });

  it("prints changes by JSONPath, of one object", async () => {
    await kubectl.output("create configmap counter --from-literal=n=1");
    const watch = kubectl.follow("get configmap counter --watch -o jsonpath='{.data.n}{\"\\n\"}'");
    assert.equal(await watch.next(), "1");
    await kubectl.output('patch configmap counter -p {"data":{"n":"2"}}');
    assert.equal(await watch.next(), "2");
    watch.end();
  });
});
