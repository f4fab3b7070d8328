import { randomBytes } from "node:crypto";
import { createCertificateRequestPem } from "../../../pki/requests/create-certificate-request.ts";
import { UnreadableAnswer } from "../../../machinery/client/transport.ts";
import { encodePrivateKeyPem, generatePrivateKey, publicKeyInfoOf } from "../../../pki/keys/keys.ts";
import { noSubjectAltNames } from "../../../pki/names/subject-alt-names.ts";
import { encodeCertificatesPem } from "../../../pki/certificates/certificates-pem.ts";
import type { ServerConnection } from "../../../machinery/command-line/connection/connection.ts";
import { newSigningRequest } from "../resources.ts";
import { awaitCertificate } from "./await-certificate.ts";
import { chainOfRequest } from "./chain-of-request.ts";
import { apiserverClient } from "../signers/apiserver-client.ts";
import { requestsOf } from "./requests-of.ts";

interface ClientIdentity {
  readonly user: string;
  readonly groups: readonly string[];
  readonly expirationSeconds: number;
}

/**
 * Makes a key, requests a client certificate for a user, approves the request as the caller and waits for the certificate. The private key
 * leaves this process only in the returned value. Throws UnreadableAnswer when the certificate is for another key.
 */
export async function requestClientCertificate(
  connection: ServerConnection,
  { user, groups, expirationSeconds }: ClientIdentity,
): Promise<{ certificate: string; key: string }> {
  const privateKey = generatePrivateKey("ECDSA P-256");
  const subject = { commonName: user, organizations: groups };
  const pem = createCertificateRequestPem({ privateKey, subject, subjectAltNames: noSubjectAltNames });
  const requests = requestsOf(connection);
  const name = `signet-kubeconfig-${randomBytes(5).toString("hex")}`;
  const signerName = apiserverClient.nameIn(connection.names);
  const usages = ["digital signature", "client auth"];
  const created = await requests.create(newSigningRequest({ name, pem, signerName, usages, expirationSeconds }));
  await requests.update(
    {
      ...created,
      status: {
        conditions: [
          {
            type: "Approved",
            status: "True",
            reason: "SignetKubeconfig",
            message: "Requested and approved in one step.",
          },
        ],
      },
    },
    { subresource: "approval" },
  );
  const chain = chainOfRequest(await awaitCertificate(connection, { name, uid: created.metadata.uid }));
  // A kubeconfig that cannot work must not replace one that does.
  if (chain[0]?.publicKey.spki.equals(publicKeyInfoOf(privateKey).spki) !== true) {
    throw new UnreadableAnswer(`the certificate of request ${name} is not for the key that requested it`);
  }
  return { certificate: encodeCertificatesPem(chain), key: encodePrivateKeyPem(privateKey) };
}
