import assert from "node:assert/strict";
import { before, it } from "node:test";
import { certificateRequest } from "../certificate-request.ts";
import { bothProfiles, describeKubectl, kubernetesOnly } from "./kubectl-scene.ts";
import { podAndNode } from "./pod-and-node.ts";

describeKubectl("kubectl describe", bothProfiles, (kubectl) => {
  before(async () => {
    await kubectl.output("create namespace fleet");
    await kubectl.output("create serviceaccount robot -n fleet");
    await kubectl.output("create secret generic door -n fleet --from-literal=key=opensesame");
    await kubectl.output("create configmap settings -n fleet --from-literal=colour=red");
    await kubectl.output("apply -f -", { input: podAndNode });
  });

  it("describes a service account", async () => {
    const described = await kubectl.output("describe sa robot -n fleet");
    assert.match(described, /^Name: +robot\nNamespace: +fleet\nLabels: +<none>\nAnnotations: +<none>\n/);
    assert.match(described, /^Events: +<none>$/m);
  });

  it("describes a secret without its values", async () => {
    const described = await kubectl.output("describe secret door -n fleet");
    assert.match(described, /^Type: +Opaque$/m);
    assert.match(described, /^key: +10 bytes$/m);
    assert.doesNotMatch(described, /opensesame/);
  });

  it("describes a ConfigMap with its data", async () => {
    const described = await kubectl.output("describe configmap settings -n fleet");
    assert.match(described, /^colour:\n----\nred$/m);
    assert.match(described, /^Events: +<none>$/m);
  });

  it("describes a namespace", async () => {
    const described = await kubectl.output("describe namespace fleet");
    assert.match(described, new RegExp(`^Labels: +${kubectl.names.key("metadata.name")}=fleet$`, "m"));
    assert.match(described, /^Status: +Active$/m);
  });

  it("describes a Pod with all that was stored of it", async () => {
    const described = await kubectl.output("describe pod worker -n fleet");
    assert.match(described, /^Service Account: +robot$/m);
    assert.match(described, /^Node: +edge-1\/$/m);
    assert.match(described, /^ {4}Port: +8080\/TCP$/m);
    assert.match(described, /^ {4}Environment:\n {6}COLOUR: +red$/m);
    assert.match(described, /^ {2}token:\n {4}Type: +Projected/m);
  });

  it("describes a Node and the Pods on it", async () => {
    const described = await kubectl.output("describe node edge-1");
    assert.match(described, /^ {2}InternalIP: +10\.0\.0\.1$/m);
    assert.match(described, /^ {2}Ready +True /m);
    assert.match(described, /^Non-terminated Pods: +\(1 in total\)$/m);
  });

  it("shows the events of an object, alone and in its description", async () => {
    const uid = await kubectl.output("get sa robot -n fleet -o jsonpath={.metadata.uid}");
    await kubectl.output("create -f -", { input: eventOf(uid) });
    const described = await kubectl.output("describe sa robot -n fleet");
    assert.match(described, /^ {2}Normal +Greeted +\S+ +greeter +Good morning$/m);
    const [header, row] = await kubectl.table("get events -n fleet");
    assert.deepEqual(header, ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]);
    assert.deepEqual(row?.slice(1), ["Normal", "Greeted", "serviceaccount/robot", "Good morning"]);
    assert.match(
      await kubectl.output("events -n fleet --for=serviceaccount/robot"),
      /ServiceAccount\/robot +Good morning$/m,
    );
  });

  it("describes several objects at once, and reports those that do not exist", async () => {
    const described = await kubectl.output("describe ns/fleet sa/default");
    assert.equal(described.match(/^Name: /gm)?.length, 2);
    assert.match(await kubectl.refusal("describe sa nobody"), /serviceaccounts "nobody" not found/);
    assert.match(await kubectl.refusal("describe gadget"), /the server doesn't have a resource type "gadget"/);
  });
});

describeKubectl("kubectl describe, by upstream's groups", kubernetesOnly, (kubectl) => {
  before(async () => {
    await kubectl.output("create role reader --verb=get,list --resource=secrets --resource-name=door");
    await kubectl.output("create clusterrole scraper --verb=get --non-resource-url=/metrics");
    await kubectl.output("create rolebinding readers --role=reader --user=ann --serviceaccount=default:default");
    await kubectl.output("create -f -", {
      input: JSON.stringify(certificateRequest({ name: "ann", names: kubectl.names })),
    });
  });

  it("describes a role's rules", async () => {
    assert.match(await kubectl.output("describe role reader"), /^ {2}secrets +\[\] +\[door\] +\[get list\]$/m);
    assert.match(await kubectl.output("describe clusterrole scraper"), /^ +\[\/metrics\] +\[\] +\[get\]$/m);
  });

  it("describes the subjects and the role of a binding", async () => {
    const described = await kubectl.output("describe rolebinding readers");
    assert.match(described, /^Role:\n {2}Kind: +Role\n {2}Name: +reader$/m);
    assert.match(described, /^ {2}User +ann/m);
    assert.match(described, /^ {2}ServiceAccount +default +default$/m);
  });

  it("describes a certificate request with its subject", async () => {
    const described = await kubectl.output("describe csr ann");
    assert.match(described, /^Requesting User: +admin$/m);
    assert.match(described, /^Signer: +kubernetes\.io\/kube-apiserver-client$/m);
    assert.match(described, /^Status: +Pending$/m);
    assert.match(described, /^ +Common Name: +ann$/m);
  });

  it("describes a lease and a trust bundle as it describes any kind", async () => {
    await kubectl.output("create -f -", { input: lease });
    assert.match(await kubectl.output("describe lease leader"), /^ {2}Holder Identity: +crane-1$/m);
    const [bundle = ""] = (await kubectl.output("get clustertrustbundles -o name")).split("\n");
    assert.match(await kubectl.output(`describe ${bundle}`), /^ {2}Trust Bundle: +-----BEGIN CERTIFICATE-----$/m);
  });
});

const eventOf = (uid: string): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "robot.1", namespace: "fleet" },
    involvedObject: { apiVersion: "v1", kind: "ServiceAccount", namespace: "fleet", name: "robot", uid },
    type: "Normal",
    reason: "Greeted",
    message: "Good morning",
    source: { component: "greeter" },
    firstTimestamp: new Date().toISOString().replace(/\.\d+/, ""),
    lastTimestamp: new Date().toISOString().replace(/\.\d+/, ""),
    count: 1,
  });

const lease = `
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: { name: leader }
spec: { holderIdentity: crane-1 }
`;
