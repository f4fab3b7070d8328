import type { Names } from "../../src/machinery/api/names.ts";
import { createCertificateRequestPem } from "../../src/pki/requests/create-certificate-request.ts";
import { generatePrivateKey } from "../../src/pki/keys/keys.ts";
import { noSubjectAltNames } from "../../src/pki/names/subject-alt-names.ts";
import { signerNames } from "../../src/features/certificates/signer-names.ts";

/** A request for a client certificate of the user `name`, as a client sends it. */
export function certificateRequest({ name, names }: { readonly name: string; readonly names: Names }) {
  const pem = createCertificateRequestPem({
    privateKey: generatePrivateKey("ECDSA P-256"),
    subject: { commonName: name, organizations: ["staff"] },
    subjectAltNames: noSubjectAltNames,
  });
  return {
    apiVersion: `${names.group("certificates")}/v1`,
    kind: "CertificateSigningRequest",
    metadata: { name },
    spec: {
      request: Buffer.from(pem).toString("base64"),
      signerName: signerNames.apiserverClient(names),
      expirationSeconds: 86_400,
      usages: ["client auth"],
    },
  };
}
