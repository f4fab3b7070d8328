import type { WantedCertificate } from "../../src/agent/certificates/wanted-certificate.ts";
import { createCertificateAuthority, signCertificate } from "../../src/pki/certificates/certificate-authority.ts";
import { parseCertificate } from "../../src/pki/certificates/certificate.ts";
import type { Certificate } from "../../src/pki/certificates/certificate.ts";
import { generatePrivateKey, publicKeyInfoOf } from "../../src/pki/keys/keys.ts";
import type { PublicKeyInfo } from "../../src/pki/keys/public-key.ts";

/** Milliseconds since the epoch. */
export interface Validity {
  readonly notBefore: number;
  readonly notAfter: number;
}

const authority = createCertificateAuthority({
  subject: { commonName: "test signer" },
  privateKey: generatePrivateKey("ECDSA P-256"),
  notBefore: 0,
  notAfter: Date.UTC(2040, 0),
});

/** The certificate of a signer that grants everything that is wanted. */
export const certificateFor = (
  { commonName, organizations, subjectAltNames, usages }: WantedCertificate,
  {
    publicKey = publicKeyInfoOf(generatePrivateKey("ECDSA P-256")),
    isCA = false,
    ...validity
  }: Validity & { publicKey?: PublicKeyInfo; isCA?: boolean },
): Certificate =>
  parseCertificate(
    signCertificate(
      {
        subject: { commonName, organizations },
        publicKey,
        ...validity,
        isCA,
        keyUsages: ["digitalSignature"],
        extendedKeyUsages: [usages.includes("client auth") ? "clientAuth" : "serverAuth"],
        subjectAltNames,
      },
      authority,
    ),
  );
