/** A signer of your own: npx node examples/custom-signer.ts KUBECONFIG SIGNER CA.crt CA.key */
import { readFileSync } from "node:fs";
import { ApiError } from "../src/machinery/api/api-error.ts";
import { namesFor } from "../src/machinery/api/names.ts";
import { ApiClient } from "../src/machinery/client/api-client.ts";
import { httpsTransport } from "../src/machinery/client/https-transport.ts";
import { Informer } from "../src/machinery/loops/informer.ts";
import { readKubeconfig } from "../src/machinery/client/kubeconfig.ts";
import { parseCertificateRequestPem } from "../src/pki/certificate-request.ts";
import type { CertificateSigningRequest } from "../src/features/certificates/requests/certificate-signing-request-schema.ts";
import { issueCertificate } from "../src/features/certificates/signers/issue.ts";
import { loadSigningAuthority } from "../src/features/certificates/authorities/signing-authority.ts";
import { certificateSigningRequestResource } from "../src/features/certificates/index.ts";

const [kubeconfig = "", signerName = "", certificateFile = "", keyFile = ""] = process.argv.slice(2);
const readText = (file: string): string => readFileSync(file, "utf8");
const authority = loadSigningAuthority({ certificate: readText(certificateFile), privateKey: readText(keyFile) });
const client = new ApiClient(httpsTransport(readKubeconfig({ file: kubeconfig }).transport));
const requests = client.resource(certificateSigningRequestResource(namesFor("platform")));

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
