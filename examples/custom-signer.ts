/** A signer of your own: npx node examples/custom-signer.ts KUBECONFIG SIGNER CA.crt CA.key */
import { readFileSync } from "node:fs";
import { ApiError } from "../src/api/api-error.ts";
import { namesFor } from "../src/api/names.ts";
import { ApiClient } from "../src/client/api-client.ts";
import { httpsTransport } from "../src/client/https-transport.ts";
import { Informer } from "../src/client/informer.ts";
import { readKubeconfig } from "../src/client/kubeconfig.ts";
import { resourceReferences } from "../src/client/resource-references.ts";
import { parseCertificateRequestPem } from "../src/pki/certificate-request.ts";
import type { CertificateSigningRequest } from "../src/resources/certificates/certificate-signing-request-schema.ts";
import { issueCertificate } from "../src/signers/issue.ts";
import { loadSigningAuthority } from "../src/signers/signing-authority.ts";

const [kubeconfig = "", signerName = "", certificateFile = "", keyFile = ""] = process.argv.slice(2);
const readText = (file: string): string => readFileSync(file, "utf8");
const authority = loadSigningAuthority({ certificate: readText(certificateFile), privateKey: readText(keyFile) });
const client = new ApiClient(httpsTransport(readKubeconfig({ file: kubeconfig }).transport));
const requests = client.resource(resourceReferences(namesFor("platform")).certificateSigningRequests);

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
