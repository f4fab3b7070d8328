import assert from "node:assert/strict";
import { it } from "node:test";
import { certificateRequestState } from "../../../../src/features/certificates/requests/certificate-request-state.ts";
import type { CertificateSigningRequest } from "../../../../src/features/certificates/requests/certificate-signing-request-schema.ts";

const stateOf = (types: readonly string[], certificate?: string): string => {
  const conditions = types.map((type) => ({ type, status: "True", reason: "", message: "" }));
  const status = { conditions, ...(certificate !== undefined && { certificate }) };
  const request: Pick<CertificateSigningRequest, "status"> = { status };
  return certificateRequestState(request as CertificateSigningRequest); // the rest says nothing of its state
};

it("a certificate request that is denied or has failed is not signed, whatever else its conditions say", () => {
  for (const order of [
    ["Approved", "Failed"],
    ["Failed", "Approved"],
  ]) {
    assert.equal(stateOf(order), "failed");
    assert.equal(stateOf([...order, "Denied"]), "denied");
    assert.equal(stateOf(["Denied", ...order], "eA=="), "denied");
  }
  assert.equal(stateOf(["Failed"]), "failed");
  assert.equal(stateOf(["Denied"]), "denied");
});

it("a certificate request that is approved is issued when it has a certificate, and pending until then without approval", () => {
  assert.equal(stateOf(["Approved", "Custom"]), "approved");
  assert.equal(stateOf(["Approved"], "eA=="), "issued");
  assert.equal(stateOf(["Approved"], ""), "approved");
  assert.equal(stateOf([]), "pending");
  assert.equal(stateOf(["Custom"], "eA=="), "pending");
});
