import assert from "node:assert/strict";
import { it } from "node:test";
import { platformNames as names } from "../../../../src/machinery/api/names.ts";
import { parseApprovalPolicy } from "../../../../src/features/certificates/policy/approval-policy.ts";
import { csrPolicyApproving } from "../../../../src/features/certificates/policy/csr-policy-approving.ts";
import { ApiClient } from "../../../../src/machinery/client/api-client.ts";
import { inProcessTransport } from "../../../../src/machinery/client/in-process-transport.ts";
import { signerNames } from "../../../../src/features/certificates/signer-names.ts";
import { ManualTime } from "../../../manual-time.ts";
import { runLoop } from "../../../run-loop.ts";
import { startTestServer } from "../../../test-server.ts";
import { CertificateScene, conditionOf, sceneOf } from "../certificate-loop-scene.ts";

const options = {
  serverNames: () => ({ dnsNames: [], ipAddresses: [] }),
  lifetimeOf: () => ({ maximumSeconds: 3600, defaultSeconds: 3600 }),
};

const policyFor = (signer: string) =>
  parseApprovalPolicy(
    `rules: [{ name: users, action: approve, match: { signers: [${signer}] }, require: { commonNames: [a] } }]`,
  );

it("csr-policy-approving looks every ten seconds at a request that no rule matches: the policy may have changed", async () => {
  const server = await startTestServer({ settings: { controllers: false } });
  const scene = new CertificateScene(server.client);
  const signerName = signerNames.apiserverClient(names);
  await scene.request({ name: "early", signerName, commonName: "a", expirationSeconds: 3600 });
  let policy = policyFor("example.com/other");
  const approving = csrPolicyApproving({ ...options, policy: () => policy });
  const time = new ManualTime();
  const loop = await runLoop(server, approving, { time });
  const isApproved = async (): Promise<boolean> => {
    await loop.queue.whenIdle();
    return conditionOf(await scene.requests.get("early"), "Approved") !== undefined;
  };
  assert.equal(await isApproved(), false);
  policy = policyFor(signerName);
  time.pass(9_999);
  assert.equal(await isApproved(), false);
  time.pass(1);
  assert.equal(await isApproved(), true);
  await loop.stop();
});

it("csr-policy-approving asks the server for a node before it denies the node's request: its copy may be old", async () => {
  const server = await startTestServer({ settings: { controllers: false } });
  const node = sceneOf(server, { name: "system:node:n1", groups: ["system:nodes"] });
  const nodes = node.client.resource(node.references.nodes);
  await nodes.create({ metadata: { name: "n1" } } as never); // the server fills in the rest
  const addresses = [{ type: "InternalDNS", address: "n1.example.com" }];
  await nodes.patch("n1", { body: { status: { addresses } }, subresource: "status" });
  const signerName = signerNames.nodeAgentServing(names);
  for (const host of ["n1", "n2"])
    await node.request({
      name: host,
      signerName,
      commonName: "system:node:n1",
      organizations: ["system:nodes"],
      usages: ["digital signature", "server auth"],
      expirationSeconds: 3600,
      names: { dnsNames: [`${host}.example.com`] },
    });
  const policy = parseApprovalPolicy(
    `rules: [{ name: nodes, action: approve, match: { signers: [${signerName}] }, require: { namesBelongToNode: true, dnsNames: ["**"] } }]`,
  );
  // The loop hears of the Nodes of another server, which has none.
  const other = await startTestServer({ settings: { controllers: false } });
  const [here, there] = [server, other].map(({ handler, adminToken }) =>
    inProcessTransport(handler, { bearerToken: adminToken }),
  );
  assert.ok(here && there);
  const followed = new ApiClient({
    send: (request) => (request.path === "/api/v1/nodes" ? there : here).send(request),
    close: () => {},
  });
  const approving = csrPolicyApproving({ ...options, policy: () => policy });
  const loop = await runLoop(server, approving, { time: new ManualTime(), followed });
  await loop.queue.whenIdle();
  const requests = new CertificateScene(server.client).requests;
  assert.ok(conditionOf(await requests.get("n1"), "Approved"));
  assert.ok(conditionOf(await requests.get("n2"), "Denied"));
  await loop.stop();
});
