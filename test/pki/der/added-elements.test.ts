import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createCertificateAuthority } from "../../../src/pki/certificates/certificate-authority.ts";
import { parseCertificate } from "../../../src/pki/certificates/certificate.ts";
import { DerReader, tags } from "../../../src/pki/der/der.ts";
import { encodeElement } from "../../../src/pki/der/der-writer.ts";
import { generatePrivateKey } from "../../../src/pki/keys/keys.ts";
import { decodePemBlocks } from "../../../src/pki/pem.ts";
import { PkiError } from "../../../src/pki/pki-error.ts";
import { parseCertificateRequest } from "../../../src/pki/requests/certificate-request.ts";
import { createCertificateRequestPem } from "../../../src/pki/requests/create-certificate-request.ts";
import { noSubjectAltNames } from "../../../src/pki/names/subject-alt-names.ts";
import { parseOcspRequest } from "../../../src/pki/revocation/ocsp-request.ts";
import { encodeCertificateId, encodeOcspRequest } from "../revocation/ocsp-messages.ts";

const constructed = 0x20;
/** Two, because an algorithm may have one as its parameters. */
const added = Buffer.concat([encodeElement(tags.null), encodeElement(tags.null)]);

/** The encodings with more elements at the end of one constructed element: of each in turn, with the path to it. */
function* withMore(der: Buffer, path = ""): Generator<{ readonly der: Buffer; readonly path: string }> {
  const reader = new DerReader(der);
  let before = Buffer.alloc(0);
  for (let index = 0; !reader.isAtEnd; index += 1) {
    const { tag, bytes, content } = reader.readElement();
    const after = der.subarray(before.length + bytes.length);
    if ((tag & constructed) !== 0) {
      const here = `${path}/${index}`;
      const insides = [{ der: Buffer.concat([content, added]), path: here }, ...withMore(content, here)];
      for (const one of insides) yield { ...one, der: Buffer.concat([before, encodeElement(tag, one.der), after]) };
    }
    before = Buffer.concat([before, bytes]);
  }
}

const privateKey = generatePrivateKey("ECDSA P-256");
const subject = { commonName: "one", organizations: ["a", "b"] };
const hour = 3_600_000;
const authority = createCertificateAuthority({ subject, privateKey, notBefore: 0, notAfter: hour });
const request = createCertificateRequestPem({
  privateKey,
  subject,
  subjectAltNames: { ...noSubjectAltNames, dnsNames: ["one.example.com"] },
});

describe("what has more elements than its syntax is refused, wherever they are:", () => {
  for (const { what, der, parse } of [
    { what: "a certificate", der: authority.certificate.der, parse: parseCertificate },
    { what: "a request", der: decodePemBlocks(request)[0]?.bytes ?? Buffer.alloc(0), parse: parseCertificateRequest },
    {
      what: "a question by OCSP",
      der: encodeOcspRequest([encodeCertificateId(authority.certificate, Buffer.of(1))], Buffer.alloc(16)),
      parse: parseOcspRequest,
    },
  ]) {
    it(what, () => {
      parse(der);
      const accepted = [...withMore(der)].filter((one) => {
        try {
          parse(one.der);
          return true;
        } catch (error) {
          assert.ok(error instanceof PkiError);
          return false;
        }
      });
      assert.deepEqual(
        accepted.map(({ path }) => path),
        [],
      );
    });
  }
});
