import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { statusText } from "../../src/agent/agent-program.ts";

describe("the status of an agent", () => {
  it("says who can approve a pending request", () => {
    const serving = {
      name: "serving",
      state: "missing",
      notAfter: undefined,
      renewAt: undefined,
      failure: undefined,
      pendingRequest: "node-csr-x",
      signerName: "example.com/serving",
      fileFault: undefined,
    } as const;
    const text = statusText({
      nodeName: "n1",
      now: 0,
      certificates: [serving],
      trustBundles: [],
      hookFaults: [],
      hasPendingHooks: false,
    });
    assert.match(
      text,
      /\nserving: waits for request node-csr-x; unless it is approved, a user who may "approve" for the signer example.com\/serving can run: signet csr approve node-csr-x$/,
    );
  });
});
