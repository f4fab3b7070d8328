import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { renewalText, statusText } from "../../src/agent/agent-status-text.ts";
import { agentFaults } from "../../src/agent/agent-status.ts";
import type { AgentStatus } from "../../src/agent/agent-status.ts";

const idle: AgentStatus = {
  nodeName: "n1",
  now: 0,
  certificates: [],
  trustBundles: [],
  outages: [],
  hookFaults: [],
  hasPendingHooks: false,
};

const missing: AgentStatus["certificates"][number] = {
  name: "client",
  state: "missing",
  notAfter: undefined,
  renewAt: undefined,
  failure: undefined,
  pendingRequest: undefined,
  signerName: undefined,
  isRenewalRequested: false,
  renewalWaitMilliseconds: undefined,
  isUnfinished: true,
  fileFault: undefined,
};

describe("the status of an agent", () => {
  it("says so while no server has answered, and nothing has failed", () => {
    const silent: AgentStatus = { ...idle, certificates: [{ ...missing, state: "unknown" }] };
    assert.match(statusText(silent), /\nno server has answered yet$/);
    assert.doesNotMatch(statusText({ ...silent, outages: ["refused"] }), /answered/);
    assert.doesNotMatch(statusText({ ...silent, certificates: [missing] }), /answered/);
  });

  it("has no character of another program that steers a terminal", () => {
    const steering = "\x1b[31m";
    const certificate = { ...missing, name: steering, failure: steering };
    const text = statusText({ ...idle, nodeName: steering, certificates: [certificate], outages: [steering] });
    assert.ok(!text.includes("\x1b"), text);
  });

  it("says who can approve a pending request", () => {
    const serving = { ...missing, name: "serving", pendingRequest: "node-csr-x", signerName: "example.com/serving" };
    const text = statusText({ ...idle, certificates: [serving] });
    assert.match(
      text,
      /\nserving: waits for request node-csr-x; unless it is approved, a user who may "approve" for the signer example.com\/serving can run: signet csr approve node-csr-x$/,
    );
  });

  it("says how long a renewal on request waits, and so does the command that asks for it", () => {
    const status = { ...idle, certificates: [missing, { ...missing, name: "web", renewalWaitMilliseconds: 6500 }] };
    const text = "web: was renewed on request just now, and is renewed again in 7 s";
    assert.match(statusText(status), new RegExp(`\\n${text}$`));
    assert.equal(renewalText(status, "web"), `${text}; signet agent status shows the result`);
    assert.equal(renewalText(status, "client"), "the agent renews client; signet agent status shows the result");
  });

  it("shows what fails and is tried again, and has no fault while only the server is away", () => {
    const outage = "could not renew the node's lease: cannot reach the server";
    const status = { ...idle, outages: [outage] };
    assert.match(statusText(status), new RegExp(`\\n${outage}$`));
    assert.deepEqual(agentFaults(status), []);
  });

  it("has a fault when a trust bundle cannot be written, and shows why, or how many anchors the server has", () => {
    const fault = "cannot write ca.pem: no space is left on the disk; make room";
    const status = { ...idle, trustBundles: [{ file: "ca.pem", anchors: 1, fault }] };
    assert.match(statusText(status), new RegExp(`\\nca.pem: ${fault}$`));
    assert.deepEqual(agentFaults(status), [`a trust bundle is not written: ${fault}`]);
    const anchored = (anchors: number | undefined) => ({ ...idle, trustBundles: [{ file: "ca.pem", anchors }] });
    assert.deepEqual(agentFaults(anchored(1)), []);
    assert.match(statusText(anchored(1)), /\nca.pem: 1 anchor$/);
    assert.match(statusText(anchored(0)), /\nca.pem: the server has no anchors for it, so it stays as it is$/);
    assert.match(statusText(anchored(undefined)), /\nca.pem: not known yet$/);
  });
});
