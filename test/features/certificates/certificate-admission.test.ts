import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  certificateApproval,
  certificateSigning,
  clusterTrustBundleAttest,
  certificateSubjectRestriction,
} from "../../../src/features/certificates/certificate-admission.ts";
import type { AdmissionAttributes } from "../../../src/machinery/api/attributes.ts";
import { allowing, apiObject, attributes, certificates, names, refusalOf } from "../admission-scene.ts";
import { signerNames } from "../../../src/features/certificates/signer-names.ts";

const request = (status: object = {}, signerName = "example.com/signer") => apiObject({ spec: { signerName }, status });
const on = (subresource: string) =>
  ({ operation: "UPDATE", group: certificates, resource: "certificatesigningrequests", subresource }) as const;
const oldObject = request();

describe("approval", () => {
  const refusal =
    `403 certificatesigningrequests.${certificates} "a" is forbidden: ` +
    'user not permitted to approve requests with signerName "example.com/signer"';
  const approve = (...grants: string[]) =>
    refusalOf(certificateApproval({ names, authorize: allowing(...grants) }), {
      ...on("approval"),
      oldObject,
      object: request({}, "example.com/mine"),
    });

  it("is for users who may approve for the stored signer, by name or by domain", async () => {
    assert.equal(await approve("approve signers example.com/signer"), undefined);
    assert.equal(await approve("approve signers example.com/*"), undefined);
  });

  it("is refused for others, even if they may approve for the signer in the body", async () => {
    assert.equal(await approve(), refusal);
    assert.equal(await approve("approve signers example.com/mine"), refusal);
    assert.equal(await approve("sign signers example.com/signer"), refusal);
    assert.equal(await approve("approve signers *"), refusal);
  });
});

describe("signing", () => {
  const sign = (object: ReturnType<typeof request>, ...grants: string[]) =>
    refusalOf(certificateSigning({ names, authorize: allowing(...grants) }), { ...on("status"), oldObject, object });

  it("needs the permission for a new certificate and for a new condition", async () => {
    for (const status of [{ certificate: "eA==" }, { conditions: [{ type: "Failed", status: "True" }] }]) {
      assert.match((await sign(request(status))) ?? "", /user not permitted to sign requests with signerName/);
      assert.equal(await sign(request(status), "sign signers example.com/signer"), undefined);
    }
  });

  it("needs no permission when neither changes", async () => {
    assert.equal(await sign(request({ conditions: [] })), undefined);
  });
});

describe("the permission for a signer", () => {
  const approval = { ...on("approval"), oldObject, object: oldObject };
  const authorize = allowing("approve signers example.com/*");

  it("is decided at once when the authorizer decides at once", () => {
    const rule = certificateApproval({ names, authorize });
    assert.equal(rule.validate?.(attributes(approval)), undefined);
  });

  it("is awaited when the authorizer has to ask another program", async () => {
    const later = certificateApproval({ names, authorize: async (asked) => authorize(asked) });
    assert.equal(await refusalOf(later, approval), undefined);
    const refusing = certificateApproval({ names, authorize: async (asked) => allowing()(asked) });
    assert.match((await refusalOf(refusing, approval)) ?? "", /^403 .*user not permitted to approve requests/);
  });
});

describe("a client certificate's organization", () => {
  const fixture = (file: string) =>
    readFileSync(join(import.meta.dirname, "../../conformance/fixtures", file)).toString("base64");
  const create = (file: string, signerName: string = signerNames.apiserverClient(names)) =>
    refusalOf(certificateSubjectRestriction({ names }), {
      group: certificates,
      resource: "certificatesigningrequests",
      object: apiObject({ spec: { signerName, request: fixture(file) } }),
    });

  it("cannot be system:masters, anywhere in the subject", async () => {
    for (const file of ["csr-masters.pem", "cert-csr-masters-second.pem"]) {
      assert.equal(
        await create(file),
        `403 certificatesigningrequests.${certificates} "a" is forbidden: ` +
          "use of platform.io/apiserver-client signer with system:masters group is not allowed",
      );
    }
  });

  it("must be readable", async () => {
    const object = apiObject({ spec: { signerName: signerNames.apiserverClient(names), request: "bm9uc2Vuc2U=" } });
    const about = { group: certificates, resource: "certificatesigningrequests", object };
    const refusal = await refusalOf(certificateSubjectRestriction({ names }), about);
    assert.match(refusal ?? "", /^403 .*failed to parse CSR: PEM block type must be CERTIFICATE REQUEST$/);
  });

  it("may be anything else, and anything for other signers", async () => {
    assert.equal(await create("csr-ecdsa.pem"), undefined);
    assert.equal(await create("cert-csr-masters-ou.pem"), undefined);
    assert.equal(await create("csr-masters.pem", "example.com/signer"), undefined);
  });
});

describe("a signer's trust bundle", () => {
  const bundle = (more: object = {}, spec: object = { signerName: "example.com/signer", trustBundle: "x" }) =>
    apiObject({ spec, metadata: { name: "a", ...more } });
  const write = (
    object: ReturnType<typeof bundle>,
    { old, grants = [] }: { old?: typeof object; grants?: string[] } = {},
  ) =>
    refusalOf(clusterTrustBundleAttest({ names, authorize: allowing(...grants) }), {
      operation: old === undefined ? "CREATE" : "UPDATE",
      group: certificates,
      resource: "clustertrustbundles",
      object,
      ...(old !== undefined && { oldObject: old }),
    });

  it("is written by users who may attest for the signer", async () => {
    assert.match((await write(bundle())) ?? "", /user not permitted to attest for signerName "example.com\/signer"$/);
    assert.equal(await write(bundle(), { grants: ["attest signers example.com/*"] }), undefined);
  });

  it("accepts owners, finalizers and unchanged writes from anyone, but labels only from authorized users", async () => {
    const old = bundle();
    assert.equal(await write(bundle(), { old }), undefined);
    assert.equal(await write(bundle({ finalizers: ["example.com/hold"] }), { old }), undefined);
    assert.match((await write(bundle({ labels: { a: "b" } }), { old })) ?? "", /^403/);
  });

  it("without a signer needs nothing", async () => {
    assert.equal(await write(bundle({}, { trustBundle: "x" })), undefined);
  });
});

describe("each rule about certificates", () => {
  const options = { names, authorize: allowing() };
  const bundles = { group: certificates, resource: "clustertrustbundles" };
  for (const [rule, about, others] of [
    [certificateApproval(options), on("approval"), [on("status"), on(""), { ...on("approval"), operation: "CREATE" }]],
    [certificateSigning(options), on("status"), [on("approval"), on(""), { ...on("status"), operation: "CREATE" }]],
    [certificateSubjectRestriction(options), { ...on(""), operation: "CREATE" }, [on(""), on("status")]],
    [clusterTrustBundleAttest(options), bundles, []],
  ] as const) {
    it(`is asked about its own writes alone: ${rule.name}`, () => {
      const isAsked = (more: Partial<AdmissionAttributes>): boolean => rule.appliesTo?.(attributes(more)) !== false;
      assert.ok(isAsked(about));
      const elsewhere = [
        { ...about, group: "certificates.example.com" },
        { ...about, resource: "others" },
      ];
      for (const other of [...others, ...elsewhere]) assert.ok(!isAsked(other), JSON.stringify(other));
    });
  }
});
