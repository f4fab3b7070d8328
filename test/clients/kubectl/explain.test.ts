import assert from "node:assert/strict";
import { it } from "node:test";
import { bothProfiles, describeKubectl } from "./kubectl-scene.ts";

describeKubectl("kubectl explain", bothProfiles, (kubectl) => {
  it("explains a kind", async () => {
    const explained = await kubectl.output("explain sa");
    assert.match(explained, /^KIND: +ServiceAccount\nVERSION: +v1\n\nDESCRIPTION:\n {4}\S/);
    assert.match(explained, /^ {2}automountServiceAccountToken\t<boolean>\n {4}\S/m);
    assert.match(explained, /^ {2}imagePullSecrets\t<\[\]LocalObjectReference>\n {4}\S/m);
  });

  it("explains a field, and which of its fields are required", async () => {
    const explained = await kubectl.output("explain csr.spec");
    assert.match(explained, new RegExp(`^GROUP: +${kubectl.names.group("certificates")}$`, "m"));
    assert.match(explained, /^FIELD: spec <CertificateSigningRequestSpec>$/m);
    assert.match(explained, /^ {2}request\t<string> -required-$/m);
    assert.match(explained, /^ {2}extra\t<map\[string\]\[\]string>$/m);
  });

  it("explains a kind of a beta version, all levels at once", async () => {
    const version = `${kubectl.names.group("certificates")}/v1beta1`;
    const explained = await kubectl.output(`explain clustertrustbundle.spec --recursive --api-version ${version}`);
    assert.match(explained, /^VERSION: +v1beta1$/m);
    assert.match(explained, /^FIELDS:\n {2}signerName\t<string>\n {2}trustBundle\t<string> -required-$/m);
  });

  it("explains by the OpenAPI 2 document too", async () => {
    const explained = await kubectl.output("explain sa --output=plaintext-openapiv2");
    assert.match(explained, /^KIND: +ServiceAccount$/m);
    assert.match(explained, /^ {3}secrets\t<\[\]Object>/m);
    assert.match(
      await kubectl.output("explain csr.spec.usages --output=plaintext-openapiv2"),
      /^FIELD: +usages <\[\]string>$/m,
    );
  });

  it("explains reviews, which are never stored", async () => {
    assert.match(await kubectl.output("explain tokenreviews.spec"), /^ {2}audiences\t<\[\]string>$/m);
  });

  it("says what does not exist", async () => {
    assert.equal(await kubectl.refusal("explain sa.colour"), 'error: field "colour" does not exist\n');
  });

  it("explains every kind that the server lists", async () => {
    const kinds = (await kubectl.output("api-resources -o name")).trim().split("\n");
    assert.ok(kinds.length > 15);
    for (const kind of kinds) {
      // kubectl takes what follows for fields of the core group's events.
      const asked = kind === "events.events.k8s.io" ? "events --api-version events.k8s.io/v1" : kind;
      assert.match(await kubectl.output(`explain ${asked}`), /^DESCRIPTION:\n {4}\S/m, kind);
    }
  });
});
