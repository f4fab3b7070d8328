import type { CertificateAuthority } from "../../../src/pki/certificates/certificate-authority.ts";
import { parseCertificate } from "../../../src/pki/certificates/certificate.ts";
import type { Certificate } from "../../../src/pki/certificates/certificate.ts";
import { encodeBitString, encodeElement, encodeSequence } from "../../../src/pki/der/der-writer.ts";
import { DerReader } from "../../../src/pki/der/der.ts";
import { signData, signatureSchemeOf } from "../../../src/pki/keys/sign.ts";
import { encodeExtension } from "../../../src/pki/certificates/extension.ts";
import type { Extension } from "../../../src/pki/certificates/extension.ts";

/** The same certificate with one more extension, signed again by its issuer. */
export function withExtension(
  certificate: Certificate,
  by: Pick<CertificateAuthority, "privateKey">,
  extension: Extension,
): Certificate {
  const parts: Buffer[] = [];
  const reader = new DerReader(new DerReader(certificate.tbsCertificate).readElement().content);
  while (!reader.isAtEnd) {
    const element = reader.readElement();
    const isExtensions = element.tag === 0xa3;
    const list = isExtensions ? new DerReader(element.content).readElement().content : element.bytes;
    const longer = (): Buffer => encodeElement(0xa3, encodeSequence(list, encodeExtension(extension)));
    parts.push(isExtensions ? longer() : element.bytes);
  }
  const tbs = encodeSequence(...parts);
  const { algorithmIdentifier } = signatureSchemeOf(by.privateKey);
  return parseCertificate(encodeSequence(tbs, algorithmIdentifier, encodeBitString(signData(tbs, by.privateKey))));
}
