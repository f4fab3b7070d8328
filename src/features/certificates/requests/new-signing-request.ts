import type { NewObject } from "../../../machinery/client/api-client.ts";
import type { CertificateSigningRequest } from "./certificate-signing-request-schema.ts";

interface RequestedCertificate {
  readonly name: string;
  /** A PKCS #10 request. */
  readonly pem: string;
  readonly signerName: string;
  readonly usages: readonly string[];
  /** Undefined: the signer's default lifetime. */
  readonly expirationSeconds: number | undefined;
}

/** The object to create for a PKCS #10 request. */
export const newSigningRequest = ({
  name,
  pem,
  signerName,
  usages,
  expirationSeconds,
}: RequestedCertificate): NewObject<CertificateSigningRequest> => ({
  metadata: { name },
  spec: {
    request: Buffer.from(pem, "utf8").toString("base64"),
    signerName,
    usages: [...usages],
    ...(expirationSeconds !== undefined && { expirationSeconds }),
  },
});
