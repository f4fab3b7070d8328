import { rmSync } from "node:fs";
import { writePrivateFile, writePublicFile } from "../../src/machinery/files/atomic-file.ts";
import { createCertificateAuthority } from "../../src/pki/certificates/certificate-authority.ts";
import type { CertificateAuthority } from "../../src/pki/certificates/certificate-authority.ts";
import { encodePrivateKeyPem, generatePrivateKey } from "../../src/pki/keys/keys.ts";
import { encodePem } from "../../src/pki/pem.ts";

/** A root that is already valid, for a day. */
export const newAuthority = (commonName: string): CertificateAuthority =>
  createCertificateAuthority({
    subject: { commonName },
    privateKey: generatePrivateKey("ECDSA P-256"),
    notBefore: Date.now() - 3_600_000,
    notAfter: Date.now() + 24 * 3_600_000,
  });

const pemOf = ({ certificate }: CertificateAuthority): string => encodePem("CERTIFICATE", certificate.der);

/** The files of `--cluster-signing-cert-file` and `--cluster-signing-key-file`. */
export interface AuthorityFiles {
  readonly certificateFile: string;
  readonly keyFile: string;
}

/** Lets a CA sign. The other CAs are published in the same bundle. */
export function useAuthority(
  { certificateFile, keyFile }: AuthorityFiles,
  signer: CertificateAuthority,
  others: readonly CertificateAuthority[] = [],
): void {
  rmSync(keyFile, { force: true });
  writePublicFile(certificateFile, [signer, ...others].map(pemOf).join(""));
  writePrivateFile(keyFile, encodePrivateKeyPem(signer.privateKey));
}
