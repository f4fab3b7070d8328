import assert from "node:assert/strict";
import { it } from "node:test";
import { platformNames as names } from "../../../../src/machinery/api/names.ts";
import { parseApprovalPolicy } from "../../../../src/features/certificates/policy/approval-policy.ts";
import { csrPolicyApproving } from "../../../../src/features/certificates/policy/csr-policy-approving.ts";
import { signerNames } from "../../../../src/features/certificates/signer-names.ts";
import { ManualTime } from "../../../manual-time.ts";
import { runLoop } from "../../../run-loop.ts";
import { startTestServer } from "../../../test-server.ts";
import { CertificateScene, conditionOf } from "../certificate-loop-scene.ts";

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
  const approving = csrPolicyApproving({
    policy: () => policy,
    serverNames: () => ({ dnsNames: [], ipAddresses: [] }),
    lifetimeOf: () => ({ maximumSeconds: 3600, defaultSeconds: 3600 }),
  });
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
