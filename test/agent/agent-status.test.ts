import assert from "node:assert/strict";
import { it } from "node:test";
import { agentFaults } from "../../src/agent/agent-status.ts";
import type { AgentStatus } from "../../src/agent/agent-status.ts";

it("an agent is not ready while a certificate is missing, is revoked or refused, has expired or is not valid yet", () => {
  const asked = { pendingRequest: undefined, renewalWaitMilliseconds: undefined, isUnfinished: false } as const;
  const certificate = { name: "serving", renewAt: 0, failure: undefined, ...asked } as const;
  const others = { signerName: undefined, isRenewalRequested: false, fileFault: undefined, state: "current" } as const;
  const faultsOf = (
    one: Pick<AgentStatus["certificates"][number], "notAfter"> & { readonly state?: "early" | "revoked" | "refused" },
  ) =>
    agentFaults({
      nodeName: "n1",
      now: 1000,
      certificates: [{ ...certificate, ...others, ...one }],
      trustBundles: [],
      outages: [],
      hookFaults: [],
      hasPendingHooks: false,
    });
  assert.deepEqual(faultsOf({ notAfter: 1000 }), []);
  assert.deepEqual(faultsOf({ notAfter: undefined }), ["there is no serving certificate"]);
  assert.deepEqual(faultsOf({ notAfter: 999 }), ["the serving certificate has expired"]);
  assert.deepEqual(faultsOf({ notAfter: 1000, state: "early" }), ["the serving certificate is not valid yet"]);
  assert.deepEqual(faultsOf({ notAfter: 1000, state: "revoked" }), ["the serving certificate is revoked"]);
  assert.deepEqual(faultsOf({ notAfter: 1000, state: "refused" }), ["the server refuses the serving certificate"]);
});
