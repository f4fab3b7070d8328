import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { issuedCertificates } from "../../../../src/features/certificates/inventory/issued-certificates.ts";
import type { IssuedCertificate } from "../../../../src/features/certificates/inventory/issued-certificates.ts";
import { timestamp } from "../../../../src/machinery/api/clock.ts";
import { namesFor, platformNames } from "../../../../src/machinery/api/names.ts";
import type { HookContext } from "../../../../src/machinery/registry/definition/resource-definition.ts";
import { messages } from "../../resource-scene.ts";

const user = { username: "admin", groups: [], extra: {} };
const context: HookContext = { user, requestedGroup: "", namespace: "", isDryRun: false, now: 0 };
const minute = 60_000;
const { validate, columns } = issuedCertificates(platformNames);
const recordWith = (changes: Partial<IssuedCertificate["spec"]> = {}): IssuedCertificate => ({
  apiVersion: "signet.platform.io/v1",
  kind: "IssuedCertificate",
  metadata: { name: "one" },
  spec: {
    signerName: "example.com/custom",
    serialNumber: "0a",
    fingerprint: "ab".repeat(32),
    notBefore: timestamp(0),
    notAfter: timestamp(90 * minute),
    ...changes,
  },
});

describe("the record of a certificate", () => {
  it("has what a revocation and the lists find it by, in the form that they compare", () => {
    assert.deepEqual(validate?.(recordWith(), context), []);
    assert.deepEqual(validate?.(recordWith({ serialNumber: "f".repeat(80) }), context), []);
    for (const [changes, message] of [
      [{ signerName: "custom" }, /^spec\.signerName: Invalid value: "custom"/],
      [{ serialNumber: "" }, /^spec\.serialNumber: Required value$/],
      [{ serialNumber: "0A" }, /^spec\.serialNumber: Invalid value: "0A": must be hexadecimal digits in lower case$/],
      [{ serialNumber: "f".repeat(81) }, /^spec\.serialNumber: Invalid value/],
      [{ fingerprint: "" }, /^spec\.fingerprint: Required value$/],
      [{ fingerprint: "ab".repeat(31) }, /^spec\.fingerprint: Invalid value/],
      [{ notBefore: "" }, /^spec\.notBefore: Required value$/],
      [{ notAfter: "" }, /^spec\.notAfter: Required value$/],
    ] as const) {
      const found = messages(validate?.(recordWith(changes), context));
      assert.equal(found.length, 1, found.join());
      assert.match(found.join(), message);
    }
  });

  it("is selected by its signer's name in either profile's spelling", () => {
    const compared = issuedCertificates(namesFor("platform", { hasUpstreamNames: true })).comparedAs;
    const upstreams = "kubernetes.io/kube-apiserver-client";
    assert.equal(compared?.("spec.signerName", upstreams), "platform.io/apiserver-client");
    assert.equal(compared?.("spec.username", upstreams), upstreams);
  });

  it("shows for how long the certificate is still valid, and whose it is", () => {
    const shown = (record: IssuedCertificate, now: number) =>
      Object.fromEntries(columns.map(({ name, cell }) => [name, cell(record, { now })]));
    const full = recordWith({
      subject: "CN=a",
      username: "ann",
      requestName: "laptop",
      dnsNames: ["a.test"],
      ipAddresses: ["10.0.0.1"],
      emailAddresses: ["a@b.test"],
      uris: ["spiffe://a/b"],
    });
    const { Age: _age, ...cells } = shown(full, 0);
    assert.deepEqual(cells, {
      Name: "one",
      Signer: "example.com/custom",
      Subject: "CN=a",
      Requestor: "ann",
      "Ends-In": "90m",
      Names: "a.test,10.0.0.1,a@b.test,spiffe://a/b",
      Serial: "0a",
      Request: "laptop",
    });
    assert.equal(shown(full, 90 * minute)["Ends-In"], "0s");
    assert.equal(shown(full, 90 * minute + 1)["Ends-In"], "ended");
    const { Subject, Requestor, Names, Request } = shown(recordWith(), 0);
    assert.deepEqual([Subject, Requestor, Names, Request], ["", "", "<none>", "<none>"]);
  });
});
