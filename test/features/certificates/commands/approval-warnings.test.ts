import assert from "node:assert/strict";
import { it } from "node:test";
import { approvalWarnings } from "../../../../src/features/certificates/commands/approval-warnings.ts";
import { signerNames } from "../../../../src/features/certificates/signer-names.ts";
import { serverIdentity } from "../../../../src/features/certificates/signers/server-identity.ts";
import { platformNames as names } from "../../../../src/machinery/api/names.ts";
import { parseCertificateRequestPem } from "../../../../src/pki/requests/certificate-request.ts";
import type { CertificateRequest } from "../../../../src/pki/requests/certificate-request.ts";
import { encodeElement, encodeSequence } from "../../../../src/pki/der/der-writer.ts";
import type { DistinguishedNameParts } from "../../../../src/pki/names/distinguished-name.ts";
import type { Extension } from "../../../../src/pki/certificates/extension.ts";
import { generatePrivateKey } from "../../../../src/pki/keys/keys.ts";
import { oids } from "../../../../src/pki/der/object-identifiers.ts";
import { requestWithExtensions } from "../../../pki/requests/request-with-extensions.ts";

const privateKey = generatePrivateKey("ECDSA P-256");
const server = serverIdentity({ shown: [], trusted: [], hosts: ["api.example"] });

interface Wish {
  readonly subject?: DistinguishedNameParts;
  readonly extensions?: readonly Omit<Extension, "isCritical">[];
  readonly usages?: readonly string[];
  readonly changed?: (request: CertificateRequest) => Partial<CertificateRequest>;
}

/** Of a request by Ann, of the group `dev`. */
function warningsOf({ subject = { commonName: "ann" }, extensions = [], usages = ["client auth"], changed }: Wish) {
  const request = parseCertificateRequestPem(requestWithExtensions({ privateKey, subject, extensions }));
  return approvalWarnings({
    names,
    spec: {
      request: "",
      signerName: signerNames.apiserverClient(names),
      username: "ann",
      groups: ["dev"],
      usages: [...usages],
    },
    request: { ...request, ...changed?.(request) },
    context: { server, node: undefined },
  });
}

it("a certificate for who asks, and groups that they have, is approved without a warning", () => {
  assert.deepEqual(warningsOf({ subject: { commonName: "ann", organizations: ["dev"] } }), []);
});

const signedWith = (hash: "sha1" | "md5", name: string) => () => ({
  signatureAlgorithm: { name, keyAlgorithm: "RSA" as const, hash, isPss: false },
});

for (const [what, wish, warning] of [
  [
    "has the group that may do everything",
    { subject: { commonName: "ann", organizations: ["system:masters"] } },
    "the organization system:masters has all permissions, and RBAC cannot take them away",
  ],
  [
    "is a CA's",
    { extensions: [{ id: oids.basicConstraints, value: Buffer.from("30030101ff", "hex") }] },
    "the request asks for a CA certificate",
  ],
  [
    "has a name that the command does not show",
    { extensions: [{ id: oids.subjectAltName, value: encodeSequence(encodeElement(0x88, Buffer.of(1))) }] },
    "the request contains names of types that are not shown here",
  ],
  ["is for every purpose", { usages: ["any"] }, 'the usage "any" allows everything'],
  [
    "has a weak key",
    { changed: ({ publicKey }) => ({ publicKey: { ...publicKey, sizeBits: 224 } }) },
    "the key is weak: ECDSA with 224 bits",
  ],
  [
    "was asked for with SHA-1",
    { changed: signedWith("sha1", "SHA1-RSA") },
    "the request's signature is weak: SHA1-RSA",
  ],
  ["was asked for with MD5", { changed: signedWith("md5", "MD5-RSA") }, "the request's signature is weak: MD5-RSA"],
] as const satisfies readonly (readonly [string, Wish, string])[]) {
  it(`a certificate that ${what} is approved with a warning`, () => {
    assert.deepEqual(warningsOf(wish), [warning]);
  });
}

it("a person's certificate in the name of a node is approved with warnings", () => {
  assert.deepEqual(warningsOf({ subject: { commonName: "system:node:n1" } }), [
    'the subject "system:node:n1" is not the requester "ann"',
    "the subject is a node's user name",
  ]);
});
