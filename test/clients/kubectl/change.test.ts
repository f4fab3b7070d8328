import assert from "node:assert/strict";
import { before, beforeEach, it } from "node:test";
import { kubernetesOnly, describeKubectl } from "./kubectl-scene.ts";

describeKubectl("kubectl patch", kubernetesOnly, (kubectl) => {
  beforeEach(async () => {
    await kubectl.output("delete sa robot --ignore-not-found");
    const input = '{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"robot"},"secrets":[{"name":"a"}]}';
    await kubectl.output("create -f -", { input });
  });

  const secretsAfter = (flags: string): Promise<string> =>
    kubectl.output(`patch sa robot ${flags} -o jsonpath={.secrets[*].name}`);

  it("merges lists by their key with a strategic merge patch", async () => {
    assert.equal(await secretsAfter('-p {"secrets":[{"name":"b"}]}'), "b a");
    assert.equal(await secretsAfter('-p {"secrets":[{"$patch":"delete","name":"a"}]}'), "b");
  });

  it("replaces lists with a merge patch", async () => {
    assert.equal(await secretsAfter('--type=merge -p {"secrets":[{"name":"b"}]}'), "b");
  });

  it("follows the operations of a JSON patch", async () => {
    assert.equal(await secretsAfter('--type=json -p [{"op":"add","path":"/secrets/-","value":{"name":"b"}}]'), "a b");
    const refusal = await kubectl.refusal('patch sa robot --type=json -p [{"op":"remove","path":"/nothing"}]');
    assert.match(refusal, /^The request is invalid: the server rejected our request due to an error in our request/);
  });

  it("says whether anything changed", async () => {
    const patch = 'patch sa robot -p {"automountServiceAccountToken":false}';
    assert.equal(await kubectl.output(patch), "serviceaccount/robot patched\n");
    assert.equal(await kubectl.output(patch), "serviceaccount/robot patched (no change)\n");
  });

  it("changes nothing with --dry-run=server", async () => {
    await kubectl.output('patch sa robot --dry-run=server --type=merge -p {"secrets":null}');
    assert.equal(await kubectl.output("get sa robot -o jsonpath={.secrets[*].name}"), "a");
  });
});

describeKubectl("kubectl label and annotate", kubernetesOnly, (kubectl) => {
  before(async () => {
    await kubectl.output("create sa robot");
  });

  it("sets, keeps, overwrites, lists and removes a label", async () => {
    assert.equal(await kubectl.output("label sa robot app=crane"), "serviceaccount/robot labeled\n");
    assert.match(await kubectl.refusal("label sa robot app=hoist"), /'app' already has a value \(crane\)/);
    await kubectl.output("label sa robot app=hoist --overwrite");
    assert.equal(await kubectl.output("label sa robot --list"), "app=hoist\n");
    assert.equal(await kubectl.output("label sa robot app-"), "serviceaccount/robot unlabeled\n");
    assert.equal(await kubectl.output("get sa robot -o jsonpath={.metadata.labels}"), "");
  });

  it("refuses an invalid label", async () => {
    assert.match(await kubectl.refusal("label sa robot app=-crane-"), /invalid label value|Invalid value: "-crane-"/);
  });

  it("labels everything of a kind", async () => {
    await kubectl.output("create sa second");
    const labelled = await kubectl.output("label sa robot second team=fleet");
    assert.equal(labelled, "serviceaccount/robot labeled\nserviceaccount/second labeled\n");
    assert.equal((await kubectl.output("get sa -l team=fleet -o name")).split("\n").length, 3);
  });

  it("sets and removes an annotation", async () => {
    assert.equal(await kubectl.output("annotate sa robot note='of a crane'"), "serviceaccount/robot annotated\n");
    assert.equal(await kubectl.output("annotate sa robot --list"), "note=of a crane\n");
    assert.equal(await kubectl.output("annotate sa robot note-"), "serviceaccount/robot annotated\n");
    assert.equal(await kubectl.output("annotate sa robot --list"), "");
  });

  it("refuses a change when the given resourceVersion is not current", async () => {
    assert.match(
      await kubectl.refusal("annotate sa robot note=late --resource-version=1"),
      /the object has been modified; please apply your changes to the latest version and try again/,
    );
  });
});

describeKubectl("kubectl replace and edit", kubernetesOnly, (kubectl) => {
  before(async () => {
    await kubectl.output("create configmap settings --from-literal=colour=red");
  });

  it("replaces an object, unless it was changed meanwhile", async () => {
    const read = await kubectl.output("get configmap settings -o yaml");
    const input = read.replace("colour: red", "colour: green");
    assert.equal(await kubectl.output("replace -f -", { input }), "configmap/settings replaced\n");
    assert.equal(await kubectl.output("get configmap settings -o jsonpath={.data.colour}"), "green");
    assert.match(await kubectl.refusal("replace -f -", { input: read }), /^Error from server \(Conflict\): /);
  });

  it("replaces only what exists, where it is of the document's kinds", async () => {
    const input = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"nothing"}}';
    assert.match(await kubectl.refusal("replace -f -", { input }), /configmaps "nothing" not found/);
  });

  it("deletes and creates again with --force", async () => {
    const before = await kubectl.output("get configmap settings -o jsonpath={.metadata.uid}");
    const input = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"colour":"green"}}';
    assert.match(await kubectl.output("replace --force -f -", { input }), /^configmap\/settings replaced$/m);
    assert.notEqual(await kubectl.output("get configmap settings -o jsonpath={.metadata.uid}"), before);
  });

  it("applies what an editor saves", async () => {
    const environment = { KUBE_EDITOR: "sed -i s/green/blue/" };
    assert.equal(await kubectl.output("edit configmap settings", { environment }), "configmap/settings edited\n");
    assert.equal(await kubectl.output("get configmap settings -o jsonpath={.data.colour}"), "blue");
  });

  it("changes nothing when an editor changes nothing", async () => {
    const { exitCode, errors } = await kubectl.run("edit configmap settings", { environment: { KUBE_EDITOR: "true" } });
    assert.equal(exitCode, 0);
    assert.equal(errors, "Edit cancelled, no changes made.\n");
  });
});
