import type { CertificateAuthority } from "../../../src/pki/certificates/certificate-authority.ts";
import { parseCertificate } from "../../../src/pki/certificates/certificate.ts";
import type { Certificate } from "../../../src/pki/certificates/certificate.ts";
import {
  encodeBitString,
  encodeElement,
  encodeObjectIdentifier,
  encodeSequence,
  encodeSetOf,
} from "../../../src/pki/der/der-writer.ts";
import { DerReader, tags } from "../../../src/pki/der/der.ts";
import { signData, signatureSchemeOf } from "../../../src/pki/keys/sign.ts";

/** The same certificate with another subject, an attribute in each of its parts, signed again by its issuer. */
export function withSubject(
  certificate: Certificate,
  by: Pick<CertificateAuthority, "privateKey">,
  attributes: readonly { readonly type: string; readonly value: string }[],
): Certificate {
  const subject = encodeSequence(
    ...attributes.map(({ type, value }) =>
      encodeSetOf([
        encodeSequence(encodeObjectIdentifier(type), encodeElement(tags.utf8String, Buffer.from(value, "utf8"))),
      ]),
    ),
  );
  const parts: Buffer[] = [];
  const reader = new DerReader(new DerReader(certificate.tbsCertificate).readElement().content);
  while (!reader.isAtEnd) parts.push(reader.readElement().bytes);
  // version, serialNumber, signature, issuer, validity, subject (RFC 5280 section 4.1)
  parts[5] = subject;
  const tbs = encodeSequence(...parts);
  const { algorithmIdentifier } = signatureSchemeOf(by.privateKey);
  return parseCertificate(encodeSequence(tbs, algorithmIdentifier, encodeBitString(signData(tbs, by.privateKey))));
}
