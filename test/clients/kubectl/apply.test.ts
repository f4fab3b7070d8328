import assert from "node:assert/strict";
import { it } from "node:test";
import { bothProfiles, describeKubectl } from "./kubectl-scene.ts";

const manifest = (name: string, data: Readonly<Record<string, string>>): string =>
  JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels: { app: "crane" } }, data });

describeKubectl("kubectl apply", bothProfiles, (kubectl) => {
  const apply = (input: string, flags = ""): Promise<string> => kubectl.output(`apply -f - ${flags}`, { input });
  const dataOf = async (name: string): Promise<unknown> =>
    JSON.parse(await kubectl.output(`get configmap ${name} -o jsonpath={.data}`));

  it("creates, then changes, then removes what the manifest no longer has", async () => {
    assert.equal(await apply(manifest("a", { x: "1", z: "2" })), "configmap/a created\n");
    assert.equal(await apply(manifest("a", { x: "1", z: "2" })), "configmap/a unchanged\n");
    await kubectl.output('patch configmap a --type=merge -p {"data":{"w":"theirs"}}');
    assert.equal(await apply(manifest("a", { x: "3" })), "configmap/a configured\n");
    assert.deepEqual(await dataOf("a"), { x: "3", w: "theirs" });
  });

  it("shows and sets what was applied last", async () => {
    await apply(manifest("b", { x: "1" }));
    assert.match(await kubectl.output("apply view-last-applied configmap b"), /^data:\n {2}x: "1"$/m);
    const input = manifest("b", { x: "2" });
    assert.equal(await kubectl.output("apply set-last-applied -f -", { input }), "configmap/b configured\n");
    assert.match(await kubectl.output("apply view-last-applied configmap b -o json"), /"x": "2"/);
  });

  it("changes nothing with --dry-run=server", async () => {
    assert.equal(await apply(manifest("c", { x: "1" }), "--dry-run=server"), "configmap/c created (server dry run)\n");
    await kubectl.refusal("get configmap c");
  });

  it("prunes objects that were applied before and are in no manifest now", async () => {
    const flags = "--prune -l app=crane --prune-allowlist=core/v1/ConfigMap -n pruned";
    await kubectl.output("create namespace pruned");
    await apply(manifest("kept", { x: "1" }), flags);
    await apply(manifest("gone", { x: "1" }), "-n pruned");
    const applied = await apply(manifest("kept", { x: "1" }), flags);
    assert.match(applied, /^configmap\/kept unchanged$/m);
    assert.match(applied, /^configmap\/gone pruned$/m);
    await kubectl.refusal("get configmap gone -n pruned");
  });

  it("applies on the server, and keeps the fields of others", async () => {
    assert.equal(await apply(manifest("d", { x: "1" }), "--server-side"), "configmap/d serverside-applied\n");
    const theirs = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "d" }, data: { w: "2" } });
    await apply(theirs, "--server-side --field-manager=other");
    await apply(manifest("d", { z: "3" }), "--server-side");
    assert.deepEqual(await dataOf("d"), { w: "2", z: "3" });
  });

  it("names the managers that a server-side apply conflicts with, and takes over by force", async () => {
    await apply(manifest("e", { x: "1" }), "--server-side");
    const input = manifest("e", { x: "2" });
    const line = "apply -f - --server-side --field-manager=other";
    const refusal = await kubectl.refusal(line, { input });
    assert.match(refusal, /^error: Apply failed with 1 conflict: conflict with "kubectl": \.data\.x$/m);
    await kubectl.output(`${line} --force-conflicts`, { input });
    assert.deepEqual(await dataOf("e"), { x: "2" });
    assert.match(await kubectl.refusal("apply -f - --server-side", { input: manifest("e", { x: "1" }) }), /"other"/);
  });

  it("migrates from client-side to server-side apply", async () => {
    await apply(manifest("f", { x: "1", z: "2" }));
    await apply(manifest("f", { x: "1" }), "--server-side");
    assert.deepEqual(await dataOf("f"), { x: "1" });
    const path = "{.metadata.managedFields[*].manager}";
    const managers = await kubectl.output(`get configmap f --show-managed-fields -o jsonpath=${path}`);
    assert.deepEqual(managers.split(" ").toSorted(), ["kubectl", "kubectl-last-applied"]);
  });

  it("applies several kinds of one file, namespaces first", async () => {
    const input = `
apiVersion: v1
kind: Namespace
metadata: { name: several }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: robot, namespace: several }
---
apiVersion: v1
kind: List
items:
  - { apiVersion: v1, kind: ConfigMap, metadata: { name: one, namespace: several } }
`;
    assert.equal(
      await kubectl.output("apply -f -", { input }),
      "namespace/several created\nserviceaccount/robot created\nconfigmap/one created\n",
    );
  });
});

describeKubectl("kubectl diff", bothProfiles, (kubectl) => {
  it("shows what an apply would change, or that nothing would change", async () => {
    await kubectl.output("apply -f -", { input: manifest("a", { x: "1", z: "2" }) });
    const same = await kubectl.run("diff -f -", { input: manifest("a", { x: "1", z: "2" }) });
    assert.deepEqual([same.exitCode, same.output], [0, ""]);
    const { exitCode, output } = await kubectl.run("diff -f -", { input: manifest("a", { x: "3" }) });
    assert.equal(exitCode, 1);
    assert.deepEqual(
      output.split("\n").filter((line) => /^[-+] /.test(line)),
      ['-  x: "1"', '-  z: "2"', '+  x: "3"'],
    );
  });

  it("shows what a server-side apply would change", async () => {
    await kubectl.output("apply --server-side -f -", { input: manifest("b", { x: "1" }) });
    const { exitCode, output } = await kubectl.run("diff --server-side -f -", { input: manifest("b", { x: "2" }) });
    assert.equal(exitCode, 1);
    assert.deepEqual(
      output.split("\n").filter((line) => /^[-+] /.test(line)),
      ['-  x: "1"', '+  x: "2"'],
    );
  });

  it("shows new objects as a whole", async () => {
    const { exitCode, output } = await kubectl.run("diff -f -", { input: manifest("new", { x: "1" }) });
    assert.equal(exitCode, 1);
    assert.match(output, /^\+kind: ConfigMap$/m);
  });
});
