import type { Clock } from "../../../machinery/api/clock.ts";
import { signCertificate } from "../../../pki/certificates/certificate-authority.ts";
import type { CertificateAuthority } from "../../../pki/certificates/certificate-authority.ts";
import type { CertificateTemplate } from "../../../pki/certificates/certificate-template.ts";
import { encodePrivateKeyPem, generatePrivateKey, publicKeyInfoOf } from "../../../pki/keys/keys.ts";
import type { PemKeyPair } from "../../../pki/key-stores/pem-key-pair.ts";
import { encodePem } from "../../../pki/pem.ts";
import { certificateUrls } from "../status/addresses.ts";
import type { RevocationSettings } from "../settings.ts";
import { backdateMilliseconds } from "../backdate.ts";

export type Identity = Pick<CertificateTemplate, "subject" | "extendedKeyUsages" | "subjectAltNames">;

export interface OwnCertificateOptions {
  readonly authority: CertificateAuthority;
  readonly clock: Clock;
  readonly lifetimeMilliseconds: number;
  /** The revocation settings for the URLs in the certificate. Undefined: the certificate names no URLs. */
  readonly revocation: Pick<RevocationSettings, "url" | "isSharded"> | undefined;
}

/** Generates a key and a certificate for the server's own use. The certificate expires no later than the CA. */
export function issueOwnCertificate(
  identity: Identity,
  { authority, clock, lifetimeMilliseconds, revocation }: OwnCertificateOptions,
): PemKeyPair {
  const privateKey = generatePrivateKey("ECDSA P-256");
  const now = clock.now();
  const der = signCertificate(
    {
      ...identity,
      publicKey: publicKeyInfoOf(privateKey),
      notBefore: now - backdateMilliseconds,
      notAfter: Math.min(now + lifetimeMilliseconds, authority.certificate.notAfter),
      isCA: false,
      keyUsages: ["digitalSignature"],
      revocationUrls: revocation && certificateUrls({ ...revocation, hasOcsp: true, issuer: authority.certificate }),
    },
    authority,
  );
  return { certificate: encodePem("CERTIFICATE", der), key: encodePrivateKeyPem(privateKey) };
}
