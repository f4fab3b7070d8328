import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { after, before, describe, it } from "node:test";
import { csrApproving } from "../../../../src/features/certificates/requests/csr-approving.ts";
import type { Handler } from "../../../../src/machinery/api/http-message.ts";
import { jsonFields } from "../../../../src/machinery/api/json/json-object.ts";
import { platformNames as names } from "../../../../src/machinery/api/names.ts";
import { ManualTime } from "../../../manual-time.ts";
import { runLoop } from "../../../run-loop.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";
import { CertificateFolder, CertificateScene, conditionOf, sceneOf } from "../certificate-loop-scene.ts";
import { signerNames } from "../../../../src/features/certificates/signer-names.ts";

const apiserverClient = signerNames.apiserverClient(names);
const apiserverClientNodeAgent = signerNames.apiserverClientNodeAgent(names);
const nodeAgentServing = signerNames.nodeAgentServing(names);
const node = { commonName: "system:node:n1", organizations: ["system:nodes"] };
const rbac = names.group("rbac.authorization");

/** Binds a default role to a group. */
const bind = (server: TestServer, role: string, group: string): Promise<unknown> =>
  server.client.request(`/apis/${rbac}/v1/clusterrolebindings`, {
    method: "POST",
    body: {
      apiVersion: `${rbac}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: `${role}-${group}`.replaceAll(":", "-") },
      roleRef: { apiGroup: rbac, kind: "ClusterRole", name: role },
      subjects: [{ apiGroup: rbac, kind: "Group", name: group }],
    },
  });

const isDecided = (request: Parameters<typeof conditionOf>[0]): boolean =>
  conditionOf(request, "Approved") !== undefined || conditionOf(request, "Denied") !== undefined;

describe("csr-approving", () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer();
    const role = "system:certificates.platform.io:certificatesigningrequests";
    await bind(server, "system:node-bootstrapper", "joining");
    await bind(server, "system:node-bootstrapper", "system:nodes");
    await bind(server, `${role}:nodeclient`, "joining");
    await bind(server, `${role}:selfnodeclient`, "system:nodes");
  });

  it("approves a joining machine's request, and csr-signing issues", async () => {
    const machine = sceneOf(server, { name: "machine", groups: ["joining"] });
    await machine.request({ name: "join", signerName: apiserverClientNodeAgent, ...node });
    const [certificate] = await machine.issued("join");
    assert.equal(certificate?.subject.commonName, "system:node:n1");
    const approval = conditionOf(await machine.requests.get("join"), "Approved");
    assert.equal(approval?.reason, "AutoApproved");
    assert.match(approval?.message ?? "", /^Auto approving node agent client certificate after/);
  });

  it("asks whether the requester may in every version of the API", async () => {
    const quiet = await startTestServer({ settings: { controllers: false } });
    const scene = new CertificateScene(quiet.client);
    await scene.request({ name: "join", signerName: apiserverClientNodeAgent, ...node });
    const asked: unknown[] = [];
    const handler: Handler = (request) => {
      if (request.path.endsWith("/subjectaccessreviews")) asked.push(jsonFields(request.inProcess?.value)["spec"]);
      return quiet.handler(request);
    };
    const approving = csrApproving({ isLeftToPolicy: () => false });
    const loop = await runLoop({ ...quiet, handler }, approving, { time: new ManualTime() });
    await loop.queue.whenIdle();
    await loop.stop();
    await quiet.stop();
    assert.deepEqual(
      asked.map((spec) => jsonFields(spec)["resourceAttributes"]),
      [
        {
          group: "certificates.platform.io",
          version: "*",
          resource: "certificatesigningrequests",
          verb: "create",
          subresource: "nodeclient",
        },
      ],
    );
  });

  it("approves a node's own renewal", async () => {
    const self = sceneOf(server, { name: "system:node:n1", groups: ["system:nodes"] });
    await self.request({ name: "renew", signerName: apiserverClientNodeAgent, ...node });
    const decided = await self.settled("renew", isDecided);
    assert.match(conditionOf(decided, "Approved")?.message ?? "", /^Auto approving self node agent/);
  });

  it("approves a request whose requester gets the permission later", async () => {
    await bind(server, "system:node-bootstrapper", "late");
    const machine = sceneOf(server, { name: "late-machine", groups: ["late"] });
    await machine.request({ name: "late", signerName: apiserverClientNodeAgent, ...node });
    // The loop takes requests in their order: once a later one is approved, it has passed this one.
    const self = sceneOf(server, { name: "system:node:n1", groups: ["system:nodes"] });
    await self.request({ name: "after-late", signerName: apiserverClientNodeAgent, ...node });
    await self.settled("after-late", isDecided);
    assert.equal(isDecided(await machine.requests.get("late")), false);
    // The name of the role in upstream's guides, which grants the same.
    await bind(server, "system:certificates.k8s.io:certificatesigningrequests:nodeclient", "late");
    const approved = await machine.settled("late", isDecided);
    assert.equal(conditionOf(approved, "Approved")?.reason, "AutoApproved");
  });

  it("leaves another node's certificate, other signers and unknown users to people", async () => {
    const self = sceneOf(server, { name: "system:node:n1", groups: ["system:nodes"] });
    await bind(server, "system:node-bootstrapper", "dev");
    const stranger = sceneOf(server, { name: "alice", groups: ["dev"] });
    await stranger.request({ name: "other", signerName: apiserverClientNodeAgent, ...node });
    await self.request({ name: "client", signerName: apiserverClient, ...node });
    const serving = { names: { dnsNames: ["n1"] }, usages: ["digital signature", "server auth"] };
    await self.request({ name: "serving", signerName: nodeAgentServing, ...node, ...serving });
    // The loop takes requests in their order: once a later one is approved, it has passed these.
    await self.request({ name: "last", signerName: apiserverClientNodeAgent, ...node });
    await self.settled("last", isDecided);
    for (const name of ["other", "client", "serving"]) {
      assert.deepEqual((await self.requests.get(name)).status.conditions ?? [], []);
    }
  });
});

describe("an approval policy", () => {
  const folder = new CertificateFolder();
  const policyFile = folder.file("policy.yaml");
  const rule = (action: string): string => `
rules:
  - name: serving
    action: approve
    match: { signers: [platform.io/nodeagent-serving], groups: [system:nodes] }
    require: { namesBelongToNode: true, dnsNames: ["**"], ipRanges: [10.0.0.0/8, 127.0.0.0/8], maximumLifetimeSeconds: 86400 }
  - name: clients
    action: ${action}
    match: { signers: [platform.io/apiserver-client], users: [alice] }
    ${action === "approve" ? "require: { dnsNames: [] }" : ""}
`;
  let server: TestServer;
  before(async () => {
    writeFileSync(policyFile, rule("approve"));
    server = await startTestServer({
      settings: { "approval-policy": policyFile, "tls-san": ["api.signet.example"] },
    });
    await bind(server, "system:node-bootstrapper", "system:nodes");
    await bind(server, "system:node-bootstrapper", "dev");
    await addNode("n1", [{ type: "InternalIP", address: "10.0.0.7" }]);
  });
  after(async () => {
    await server.stop();
    folder.remove();
  });

  async function addNode(name: string, addresses: readonly object[]): Promise<void> {
    await server.client.request("/api/v1/nodes", {
      method: "POST",
      body: { apiVersion: "v1", kind: "Node", metadata: { name } },
    });
    await server.client.request(`/api/v1/nodes/${name}/status`, {
      method: "PATCH",
      contentType: "application/merge-patch+json",
      body: { status: { addresses } },
    });
  }

  const serving = (name: string, ipAddresses: readonly string[], expirationSeconds = 3600) => ({
    name,
    signerName: nodeAgentServing,
    ...node,
    names: { dnsNames: ["n1"], ipAddresses: [...ipAddresses] },
    usages: ["digital signature", "server auth"],
    expirationSeconds,
  });

  it("approves a request for the requesting node's own names, and the certificate is issued", async () => {
    const self = sceneOf(server, { name: "system:node:n1", groups: ["system:nodes"] });
    await self.request(serving("own", ["10.0.0.7"]));
    const [certificate] = await self.issued("own");
    assert.deepEqual(certificate?.subjectAltNames.ipAddresses, ["10.0.0.7"]);
    const approval = conditionOf(await self.requests.get("own"), "Approved");
    assert.equal(approval?.reason, "ApprovalPolicy");
    assert.equal(approval?.message, 'Approved by rule "serving" of the approval policy.');
  });

  it("names the rule and the field in a denial", async () => {
    const self = sceneOf(server, { name: "system:node:n1", groups: ["system:nodes"] });
    await self.request(serving("foreign", ["10.0.0.8"], 90_000));
    const denied = await self.settled("foreign", isDecided);
    assert.equal(
      conditionOf(denied, "Denied")?.message,
      'Denied by rule "serving" of the approval policy: namesBelongToNode: 10.0.0.8 is not an address of the node; ' +
        "maximumLifetimeSeconds: 90000 seconds are more than the maximum of 86400.",
    );
  });

  it("denies a client certificate of one year, the default of a request without a lifetime", async () => {
    const alice = sceneOf(server, { name: "alice", groups: ["dev"] });
    await alice.request({ name: "year", signerName: apiserverClient, commonName: "alice" });
    const denied = await alice.settled("year", isDecided);
    assert.match(conditionOf(denied, "Denied")?.message ?? "", /31536000 seconds are more than the maximum of 86400/);
  });

  it("never gives a node the server's own names, which the node reports as its own", async () => {
    const names = ["localhost", hostname().toLowerCase(), "api.signet.example"];
    await addNode("liar", [
      ...names.map((address) => ({ type: "InternalDNS", address })),
      { type: "InternalIP", address: "127.0.0.1" },
    ]);
    const liar = sceneOf(server, { name: "system:node:liar", groups: ["system:nodes"] });
    const subject = { commonName: "system:node:liar", organizations: ["system:nodes"] };
    const wishes = [...names.map((name) => ({ dnsNames: [name] })), { ipAddresses: ["127.0.0.1"] }];
    for (const [index, altNames] of wishes.entries()) {
      const name = `server-name-${index}`;
      await liar.request({ ...serving(name, []), ...subject, names: altNames });
      const denied = await liar.settled(name, isDecided);
      assert.match(conditionOf(denied, "Denied")?.message ?? "", /serverNames: ".*" is a name of the API server/);
    }
  });

  it("ignores requests that no rule matches", async () => {
    const mallory = sceneOf(server, { name: "mallory", groups: ["dev"] });
    await mallory.request({ name: "unruled", signerName: apiserverClient, commonName: "mallory" });
    const alice = sceneOf(server, { name: "alice", groups: ["dev"] });
    const ruled = { signerName: apiserverClient, commonName: "alice", expirationSeconds: 3600 };
    await alice.request({ name: "ruled", ...ruled });
    await alice.settled("ruled", isDecided);
    assert.deepEqual((await mallory.requests.get("unruled")).status.conditions ?? [], []);
  });

  it("is read again when it changes, and stays in force while the file is broken", async () => {
    const alice = sceneOf(server, { name: "alice", groups: ["dev"] });
    const decide = async (name: string): Promise<string | undefined> => {
      server.readFilesAgain();
      await alice.request({ name, signerName: apiserverClient, commonName: "alice", expirationSeconds: 3600 });
      return (await alice.settled(name, isDecided)).status.conditions?.[0]?.type;
    };
    writeFileSync(policyFile, "rules: [{ name: broken }]");
    assert.equal(await decide("while-broken"), "Approved");
    for (const [index, other] of ["/dev/zero", "/dev/null", folder.path, folder.file("nowhere")].entries()) {
      rmSync(policyFile);
      symlinkSync(other, policyFile);
      assert.equal(await decide(`while-a-link-${index}`), "Approved", other);
    }
    rmSync(policyFile);
    execFileSync("mkfifo", [policyFile]);
    assert.equal(await decide("while-a-pipe"), "Approved");
    rmSync(policyFile);
    writeFileSync(folder.file("linked.yaml"), rule("deny"));
    symlinkSync(folder.file("linked.yaml"), policyFile);
    assert.equal(await decide("after-change"), "Denied");
    rmSync(policyFile);
  });

  it("that is broken at the start is a usage error that lists every fault", async () => {
    writeFileSync(policyFile, "rules: [{ name: broken, action: perhaps }]");
    await assert.rejects(
      startTestServer({ settings: { "approval-policy": policyFile } }),
      /--approval-policy: .*action: must be "approve" or "deny"/,
    );
  });

  it("comes before the automatic approval of node clients, even where it has not decided yet", async () => {
    writeFileSync(
      policyFile,
      "rules: [{ name: none, action: deny, match: { signers: [platform.io/apiserver-client-nodeagent], users: [alice] } }]",
    );
    const settings = { "approval-policy": policyFile, controllers: ["csrapproving"] };
    const other = await startTestServer({ settings });
    const join = { signerName: apiserverClientNodeAgent, ...node };
    const alice = sceneOf(other, { name: "alice", groups: ["system:masters"] });
    await alice.request({ ...join, name: "left-to-the-policy" });
    await new CertificateScene(other.client).request({ ...join, name: "later" });
    assert.ok(conditionOf(await alice.settled("later", isDecided), "Approved"));
    assert.ok(!isDecided(await alice.requests.get("left-to-the-policy")));
  });
});
