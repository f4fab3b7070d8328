import assert from "node:assert/strict";
import { before, it } from "node:test";
import { bothProfiles, cells, describeKubectl } from "./kubectl-scene.ts";
import { podAndNode } from "./pod-and-node.ts";
import { signerNames } from "../../../src/features/certificates/signer-names.ts";

describeKubectl("kubectl get", bothProfiles, (kubectl) => {
  before(async () => {
    await kubectl.output("create namespace fleet");
    await kubectl.output("wait --for=create serviceaccount/default -n fleet --timeout=20s");
    await kubectl.output("create serviceaccount robot -n fleet");
    await kubectl.output("label serviceaccount robot -n fleet app=crane");
    for (const name of ["one", "two", "three"])
      await kubectl.output(`create configmap ${name} -n fleet --from-literal=number=${name}`);
    await kubectl.output("wait --for=create configmap -n fleet --timeout=20s " + kubectl.names.rootCaConfigMap);
  });

  it("prints a table", async () => {
    const [header, ...rows] = await kubectl.table("get serviceaccounts -n fleet");
    assert.deepEqual(header, ["NAME", "AGE"]);
    assert.deepEqual(
      rows.map(([name]) => name),
      ["default", "robot"],
    );
    assert.match(rows[1]?.[1] ?? "", /^\d+s$/);
  });

  it("takes short names, and the namespace of each row with -A", async () => {
    const [header, ...rows] = await kubectl.table("get sa -A");
    assert.deepEqual(header, ["NAMESPACE", "NAME", "AGE"]);
    assert.ok(rows.some(([namespace, name]) => namespace === "fleet" && name === "robot"));
    assert.ok(rows.some(([namespace, name]) => namespace === kubectl.names.namespaces.system && name === "default"));
  });

  it("shows the reserved namespaces with their phase", async () => {
    const rows = await kubectl.table("get ns --no-headers");
    const { system, public: open, nodeLease } = kubectl.names.namespaces;
    const phases = new Map(rows.map(([name, phase]) => [name, phase]));
    for (const name of ["default", "fleet", system, open, nodeLease]) assert.equal(phases.get(name), "Active", name);
  });

  it("shows labels, and one of them as a column", async () => {
    assert.deepEqual((await kubectl.table("get sa robot -n fleet --show-labels"))[1]?.at(-1), "app=crane");
    const [header, row] = await kubectl.table("get sa robot -n fleet -L app");
    assert.equal(header?.at(-1), "APP");
    assert.equal(row?.at(-1), "crane");
  });

  it("selects by label", async () => {
    assert.equal(await kubectl.output("get sa -n fleet -l app=crane -o name"), "serviceaccount/robot\n");
    assert.equal(await kubectl.output("get sa -n fleet -l '!app' -o name"), "serviceaccount/default\n");
    assert.equal(await kubectl.output("get sa -n fleet -l 'app in (crane,hoist)' -o name"), "serviceaccount/robot\n");
    const { exitCode, errors } = await kubectl.run("get sa -n fleet -l app=none");
    assert.equal(exitCode, 0);
    assert.equal(errors, "No resources found in fleet namespace.\n");
  });

  it("selects by field", async () => {
    assert.equal(
      await kubectl.output("get sa -A --field-selector metadata.name=robot -o name"),
      "serviceaccount/robot\n",
    );
    assert.match(
      await kubectl.refusal("get sa --field-selector spec.colour=red"),
      /"spec.colour" is not a known field selector/,
    );
  });

  it("prints JSON", async () => {
    const robot = JSON.parse(await kubectl.output("get sa robot -n fleet -o json"));
    assert.equal(robot.apiVersion, "v1");
    assert.equal(robot.kind, "ServiceAccount");
    assert.equal(robot.metadata.name, "robot");
    assert.deepEqual(robot.metadata.labels, { app: "crane" });
    assert.equal(robot.metadata.managedFields, undefined);
  });

  it("prints a list as JSON", async () => {
    const list = JSON.parse(await kubectl.output("get cm -n fleet -o json"));
    assert.equal(list.kind, "List");
    assert.equal(list.items.length, 4);
  });

  it("prints YAML", async () => {
    const printed = await kubectl.output("get cm one -n fleet -o yaml");
    assert.match(printed, /^apiVersion: v1\ndata:\n {2}number: one\nkind: ConfigMap\nmetadata:\n/);
    assert.doesNotMatch(printed, /managedFields/);
  });

  it("prints who manages the fields when it is asked to", async () => {
    const printed = await kubectl.output("get cm one -n fleet -o yaml --show-managed-fields");
    assert.match(printed, /managedFields:\n[^]*f:number: \{\}[^]*manager: kubectl-create\n {4}operation: Update/);
  });

  it("prints names", async () => {
    assert.equal(await kubectl.output("get cm one two -n fleet -o name"), "configmap/one\nconfigmap/two\n");
  });

  it("prints by JSONPath", async () => {
    const path = `{range .items[*]}{.metadata.name}={.data.number},{end}`;
    const printed = await kubectl.output(`get cm one three two -n fleet -o jsonpath='${path}'`);
    assert.equal(printed, "one=one,three=three,two=two,");
  });

  it("prints columns of the user's choice", async () => {
    assert.deepEqual(
      await kubectl.table("get cm one -n fleet -o custom-columns=WHO:.metadata.name,WHAT:.data.number"),
      [
        ["WHO", "WHAT"],
        ["one", "one"],
      ],
    );
  });

  it("prints by Go template", async () => {
    const template = "{{range .items}}{{.metadata.name}};{{end}}";
    assert.equal(await kubectl.output(`get sa -n fleet -o go-template='${template}'`), "default;robot;");
  });

  it("sorts by a field", async () => {
    assert.equal(
      await kubectl.output("get cm one two three -n fleet --sort-by=.data.number -o name"),
      "configmap/one\nconfigmap/three\nconfigmap/two\n",
    );
    const rows = await kubectl.table("get ns --sort-by=.metadata.name --no-headers");
    const names = rows.map(([name]) => name ?? "");
    assert.deepEqual(names, names.toSorted());
  });

  it("reads a long list in chunks", async () => {
    const { output, errors } = await kubectl.run("get cm -n fleet --chunk-size=1 -v=6");
    assert.equal(cells(output).length, 5);
    assert.equal(errors.match(/continue=/g)?.length, 3);
  });

  it("prints several kinds at once", async () => {
    const printed = await kubectl.output("get sa/robot cm/one -n fleet --no-headers");
    assert.deepEqual(
      cells(printed).map(([name]) => name),
      ["serviceaccount/robot", "configmap/one"],
    );
  });

  it("reports objects that do not exist, and prints the rest", async () => {
    const { exitCode, output, errors } = await kubectl.run("get sa robot nobody -n fleet");
    assert.equal(exitCode, 1);
    assert.equal(cells(output).length, 2);
    assert.equal(errors, 'Error from server (NotFound): serviceaccounts "nobody" not found\n');
  });

  it("does not report missing objects with --ignore-not-found", async () => {
    assert.equal(await kubectl.output("get sa nobody --ignore-not-found"), "");
  });

  it("shows the columns of Pods and Nodes", async () => {
    await kubectl.output("apply -f -", { input: podAndNode });
    const [podHeader, pod] = await kubectl.table("get pods -n fleet -o wide");
    assert.deepEqual(podHeader, [
      "NAME",
      "READY",
      "STATUS",
      "RESTARTS",
      "AGE",
      "IP",
      "NODE",
      "NOMINATED NODE",
      "READINESS GATES",
    ]);
    assert.deepEqual(pod?.slice(0, 4), ["worker", "0/1", "Pending", "0"]);
    assert.equal(pod?.[6], "edge-1");
    const [nodeHeader, node] = await kubectl.table("get nodes -o wide");
    assert.deepEqual(nodeHeader?.slice(0, 7), [
      "NAME",
      "STATUS",
      "ROLES",
      "AGE",
      "VERSION",
      "LAST-SEEN",
      "INTERNAL-IP",
    ]);
    assert.deepEqual(node?.slice(0, 3), ["edge-1", "Ready", "<none>"]);
    assert.deepEqual(node?.slice(4, 7), ["v1.34.0", "<unknown>", "10.0.0.1"]);
    assert.match(await kubectl.output("get all -n fleet -o name"), /^pod\/worker$/m);
  });

  it("shows who is bound to a role in wide output", async () => {
    await kubectl.output("apply -f -", { input: binding(kubectl.names.group("rbac.authorization")) });
    const [header, row] = await kubectl.table("get rolebindings -n fleet -o wide");
    assert.deepEqual(header, ["NAME", "ROLE", "AGE", "USERS", "GROUPS", "SERVICEACCOUNTS"]);
    assert.deepEqual(row?.toSpliced(2, 1), ["readers", "ClusterRole/view", "ann", "staff", "fleet/robot"]);
  });

  it("shows the type and the size of secrets, never what is in them", async () => {
    await kubectl.output("create secret generic door -n fleet --from-literal=key=opensesame");
    const [header, row] = await kubectl.table("get secret door -n fleet");
    assert.deepEqual(header, ["NAME", "TYPE", "DATA", "AGE"]);
    assert.deepEqual(row?.slice(0, 3), ["door", "Opaque", "1"]);
  });

  it("shows the trust bundles of the signers", async () => {
    const rows = await kubectl.table("get clustertrustbundles");
    assert.deepEqual(rows[0], ["NAME", "SIGNERNAME"]);
    const apiserverClient = signerNames.apiserverClient(kubectl.names);
    assert.ok(
      rows.some(([name, signer]) => name?.startsWith(apiserverClient.replace("/", ":")) && signer === apiserverClient),
    );
  });
});

const binding = (group: string): string => `
apiVersion: ${group}/v1
kind: RoleBinding
metadata: { name: readers, namespace: fleet }
roleRef: { apiGroup: ${group}, kind: ClusterRole, name: view }
subjects:
  - { kind: User, apiGroup: ${group}, name: ann }
  - { kind: Group, apiGroup: ${group}, name: staff }
  - { kind: ServiceAccount, name: robot, namespace: fleet }
`;
