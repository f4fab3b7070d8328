import { createHash } from "node:crypto";
import type { KeyObject } from "node:crypto";
import type { Names } from "../machinery/api/names.ts";
import { createCertificateRequestPem } from "../pki/create-certificate-request.ts";
import { publicKeyInfoOf } from "../pki/keys.ts";
import type { CertificateSigningRequest } from "../features/certificates/resources.ts";
import type { WantedCertificate } from "./wanted-certificate.ts";

export interface SigningRequestOptions {
  readonly names: Names;
  readonly wanted: WantedCertificate;
  readonly privateKey: KeyObject;
  readonly lifetimeSeconds: number | undefined;
}

/**
 * The request for a certificate. Its name is a digest of the key and of all that is asked for: after a restart the same
 * key finds the same request again, and another wish is another request (upstream: kubelet's `node-csr-` names).
 */
export function signingRequest({
  names,
  wanted,
  privateKey,
  lifetimeSeconds,
}: SigningRequestOptions): CertificateSigningRequest {
  const { signerName, commonName, organizations, subjectAltNames, usages } = wanted;
  const pem = createCertificateRequestPem({ privateKey, subject: { commonName, organizations }, subjectAltNames });
  const digest = createHash("sha256")
    .update(publicKeyInfoOf(privateKey).spki)
    .update(JSON.stringify([wanted, lifetimeSeconds]));
  return {
    apiVersion: `${names.group("certificates")}/v1`,
    kind: "CertificateSigningRequest",
    metadata: { name: `node-csr-${digest.digest("hex").slice(0, 40)}` },
    spec: {
      request: Buffer.from(pem, "utf8").toString("base64"),
      signerName,
      usages: [...usages],
      ...(lifetimeSeconds !== undefined && { expirationSeconds: lifetimeSeconds }),
    },
    status: {},
  };
}
