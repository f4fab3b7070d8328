/** A signer of your own: node custom-signer.ts KUBECONFIG SIGNER CA.crt CA.key */
import { readFileSync } from "node:fs";
import { ApiError, connect, Informer, namesOfServer, platformNames } from "signet/client";
import {
  certificateSigningRequestResource,
  issueCertificate,
  loadSigningAuthority,
  parseCertificateRequestPem,
} from "signet/signing";
import type { CertificateSigningRequest } from "signet/signing";

const [kubeconfig = "", signerName = "", certificateFile = "", keyFile = ""] = process.argv.slice(2);
const readText = (file: string): string => readFileSync(file, "utf8");
const authority = loadSigningAuthority({ certificate: readText(certificateFile), privateKey: readText(keyFile) });
const client = connect({ file: kubeconfig });
const requests = client.resource(certificateSigningRequestResource((await namesOfServer(client)) ?? platformNames));

async function sign(stored: CertificateSigningRequest): Promise<void> {
  const { request, expirationSeconds, usages = [] } = stored.spec;
  const issued = issueCertificate({
    request: parseCertificateRequestPem(Buffer.from(request ?? "", "base64")),
    ...{ usages, expirationSeconds, authority, maximumLifetimeSeconds: 86_400, now: Date.now() },
  });
  const certificate = Buffer.from(issued.pem + authority.chainPem).toString("base64");
  await requests.update({ ...stored, status: { ...stored.status, certificate } }, { subresource: "status" });
  console.log(`signed ${stored.metadata.name} for ${stored.spec.username}`);
}

function onRequest(request: CertificateSigningRequest): void {
  const has = (type: string) => request.status.conditions?.some((condition) => condition.type === type) === true;
  if (!has("Approved") || has("Denied") || has("Failed") || request.status.certificate) return;
  sign(request).catch((error: unknown) => {
    // Somebody changed the request meanwhile: the informer brings the new version.
    if (!(error instanceof ApiError) || error.code !== 409) console.error(request.metadata.name, error);
  });
}

const informer = new Informer(requests, { selectors: { fieldSelector: `spec.signerName=${signerName}` } });
informer.addHandler({ onAdd: onRequest, onUpdate: onRequest });
await informer.start(new AbortController().signal);
console.log(`signing for ${signerName}`);
