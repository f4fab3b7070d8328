import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { describe, it } from "node:test";
import fc from "fast-check";
import { clientCertificate } from "../../../../src/features/access/credentials/client-certificate.ts";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import { parseCertificate } from "../../../../src/pki/certificates/certificate.ts";
import { withSubject } from "../../../pki/certificates/with-subject.ts";
import { TestClock } from "../../accounts/tokens/token-scene.ts";
import { newAuthority, newCertificate, request } from "../certificate-scene.ts";

const [commonName, organization, unit, uid] = ["2.5.4.3", "2.5.4.10", "2.5.4.11", "1.3.6.1.4.1.57683.2"];
const authority = newAuthority("clients");
const credential = clientCertificate({
  roots: () => [authority.certificate],
  clock: new TestClock(),
  names: platformNames,
});
const plain = parseCertificate(newCertificate(authority).raw);

const outcomeOf = async (attributes: Parameters<typeof withSubject>[2]) => {
  const certificate = withSubject(plain, authority, attributes);
  return credential.authenticate(request({}, [new X509Certificate(certificate.der)]));
};

describe("a client certificate", () => {
  it("names the user, the groups and the uid in its subject, wherever they stand in it", async () => {
    const attribute = fc.record({
      type: fc.constantFrom(commonName, organization, unit, uid),
      value: fc.constantFrom("", "alice", "dev", "Zoë", "1000"),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(attribute, { maxLength: 6 }), async (attributes) => {
        const valuesOf = (type: string): string[] =>
          attributes.flatMap((one) => (one.type === type ? [one.value] : []));
        const username = valuesOf(commonName).at(-1) ?? "";
        const uids = valuesOf(uid);
        const answer = await outcomeOf(attributes);
        if (username === "") return assert.equal(answer.outcome, "notApplicable");
        if (uids.length > 1 || uids[0] === "") return assert.equal(answer.outcome, "refused");
        assert.ok(answer.outcome === "authenticated");
        assert.equal(answer.user.username, username);
        assert.deepEqual(answer.user.groups, valuesOf(organization));
        assert.equal(answer.user.uid, uids[0]);
      }),
    );
  });

  it("is refused with several uids or an empty one", async () => {
    const alice = { type: commonName, value: "alice" };
    const withUids = (...values: string[]) => outcomeOf([alice, ...values.map((value) => ({ type: uid, value }))]);
    assert.deepEqual(await withUids("1", "2"), { outcome: "refused", message: "x509: the subject has several uids" });
    assert.deepEqual(await withUids(""), { outcome: "refused", message: "x509: the subject's uid is empty" });
  });
});
