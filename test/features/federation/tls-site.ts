import { once } from "node:events";
import https from "node:https";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { createCertificateAuthority, signCertificate } from "../../../src/pki/certificates/certificate-authority.ts";
import { encodePrivateKeyPem, generatePrivateKey, publicKeyInfoOf } from "../../../src/pki/keys/keys.ts";
import { encodePem } from "../../../src/pki/pem.ts";
import { noSubjectAltNames } from "../../../src/pki/names/subject-alt-names.ts";

/** A TLS server on the loopback address with a CA of its own, whose behaviour a test sets at any time. */
export interface TlsSite extends AsyncDisposable {
  readonly url: string;
  /** PEM of the CA that its certificate chains to. */
  readonly caCertificate: string;
  /** Answers every request from now on. */
  answer: RequestListener;
}

export async function openTlsSite(): Promise<TlsSite> {
  const now = Date.now();
  const validity = { notBefore: now - 60_000, notAfter: now + 3_600_000 };
  const authority = createCertificateAuthority({
    subject: { commonName: "site" },
    privateKey: generatePrivateKey("ECDSA P-256"),
    ...validity,
  });
  const key = generatePrivateKey("ECDSA P-256");
  const certificate = signCertificate(
    {
      subject: { commonName: "127.0.0.1" },
      publicKey: publicKeyInfoOf(key),
      ...validity,
      isCA: false,
      keyUsages: ["digitalSignature"],
      extendedKeyUsages: ["serverAuth"],
      subjectAltNames: { ...noSubjectAltNames, ipAddresses: ["127.0.0.1"] },
    },
    authority,
  );
  const pem = (bytes: Uint8Array): string => encodePem("CERTIFICATE", bytes);
  const site = { answer: ((_request, response) => response.writeHead(503).end()) as RequestListener };
  const server = https.createServer({ key: encodePrivateKeyPem(key), cert: pem(certificate) }, (request, response) =>
    site.answer(request, response),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on a port
  return Object.assign(site, {
    url: `https://127.0.0.1:${port}`,
    caCertificate: pem(authority.certificate.der),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  });
}
