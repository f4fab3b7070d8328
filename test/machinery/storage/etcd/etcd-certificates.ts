import { createCertificateAuthority, signCertificate } from "../../../../src/pki/certificates/certificate-authority.ts";
import { encodePrivateKeyPem, generatePrivateKey, publicKeyInfoOf } from "../../../../src/pki/keys/keys.ts";
import { encodePem } from "../../../../src/pki/pem.ts";

export interface TestCertificates {
  readonly "ca.crt": string;
  readonly "server.crt": string;
  readonly "server.key": string;
  readonly "client.crt": string;
  readonly "client.key": string;
}

const dayMilliseconds = 24 * 3_600_000;

/** A CA, a certificate for a server on 127.0.0.1 and one for its clients. */
export function issueTestCertificates(): TestCertificates {
  const notBefore = Date.now() - dayMilliseconds;
  const notAfter = Date.now() + dayMilliseconds;
  const authority = createCertificateAuthority({
    subject: { commonName: "etcd-ca" },
    privateKey: generatePrivateKey("ECDSA P-256"),
    notBefore,
    notAfter,
  });
  const issue = (
    commonName: string,
    usages: readonly ("serverAuth" | "clientAuth")[],
  ): { pem: string; key: string } => {
    const privateKey = generatePrivateKey("ECDSA P-256");
    const der = signCertificate(
      {
        subject: { commonName },
        publicKey: publicKeyInfoOf(privateKey),
        notBefore,
        notAfter,
        isCA: false,
        keyUsages: ["digitalSignature"],
        extendedKeyUsages: [...usages],
        subjectAltNames: { dnsNames: ["localhost"], ipAddresses: ["127.0.0.1"], emailAddresses: [], uris: [] },
      },
      authority,
    );
    return { pem: encodePem("CERTIFICATE", der), key: encodePrivateKeyPem(privateKey) };
  };
  // etcd's gateway shows the server's certificate to etcd itself as a client.
  const server = issue("etcd", ["serverAuth", "clientAuth"]);
  const client = issue("signet", ["clientAuth"]);
  return {
    "ca.crt": encodePem("CERTIFICATE", authority.certificate.der),
    "server.crt": server.pem,
    "server.key": server.key,
    "client.crt": client.pem,
    "client.key": client.key,
  };
}
