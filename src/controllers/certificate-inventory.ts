import type { Certificate } from "../pki/certificate.ts";
import { parseCertificate } from "../pki/certificate.ts";
import { decodePemBlocks } from "../pki/pem.ts";
import { PkiError } from "../pki/pki-error.ts";
import type { CertificateSigningRequest } from "../resources/certificates/certificate-signing-request-schema.ts";
import { certificateRecord, recordName } from "./certificate-record.ts";
import { controllerQueue, ignoring } from "./controller.ts";
import type { Controller, ControllerContext } from "./controller.ts";

/** Records a certificate; one that is recorded already stays as it is. */
export const recordCertificate = (
  { client, names, references }: ControllerContext,
  issued: { readonly certificate: Certificate; readonly request: CertificateSigningRequest },
): Promise<void> =>
  ignoring([409], client.resource(references.issuedCertificates).create(certificateRecord(names, issued)));

/**
 * Records the certificates that appear in requests: those of custom signers, and whatever else was written by hand. What
 * `csr-signing` issues is recorded before it is handed out, and found recorded here.
 */
export const certificateInventory: Controller = {
  name: "certificate-inventory",
  start(context) {
    const { informers, log, references } = context;
    const requests = informers.of(references.certificateSigningRequests);
    const records = informers.of(references.issuedCertificates);
    const queue = controllerQueue(this.name, context, async (name) => {
      const request = requests.get(name);
      if (request === undefined) return;
      const certificate = leafOf(request);
      if (certificate === "unreadable") {
        log.info({ controller: this.name, request: name }, "the certificate cannot be read and is not recorded");
      } else if (certificate !== undefined && records.get(recordName(certificate)) === undefined) {
        await recordCertificate(context, { certificate, request });
      }
    });
    const add = ({ metadata, status }: CertificateSigningRequest): void => {
      if (status.certificate) queue.add(metadata.name ?? "");
    };
    requests.addHandler({
      onAdd: add,
      onUpdate: (request, previous) => {
        if (request.status.certificate !== previous.status.certificate) add(request);
      },
    });
    return { queue };
  },
};

/** The first certificate; after it comes its chain. */
function leafOf({ status }: CertificateSigningRequest): Certificate | "unreadable" | undefined {
  const block = decodePemBlocks(Buffer.from(status.certificate ?? "", "base64")).find(
    ({ type }) => type === "CERTIFICATE",
  );
  if (block === undefined) return undefined;
  try {
    return parseCertificate(block.bytes);
  } catch (error) {
    if (error instanceof PkiError) return "unreadable";
    throw error;
  }
}
