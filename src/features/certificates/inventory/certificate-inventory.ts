import type { Certificate } from "../../../pki/certificates/certificate.ts";
import type { CertificateSigningRequest } from "../requests/certificate-signing-request-schema.ts";
import { readIssuedText } from "../requests/issued-text.ts";
import { certificateRecord, fingerprintRecordName, isRecordOf, signedRecordName } from "./certificate-record.ts";
import { ignoreCodes } from "../../../machinery/client/ignore-codes.ts";
import { requestQueue } from "../requests/request-queue.ts";
import type { Controller } from "../../../machinery/loops/controller.ts";
import { hourlyCleaner } from "../../../machinery/loops/hourly-cleaner.ts";
import { certificateSigningRequestResource, issuedCertificateResource } from "../resources.ts";

const isRecordedAlready = "nothing to do: the certificate is recorded";

/**
 * Records the certificates that appear in requests of custom signers, or that were written by hand. `csrsigning`
 * records its own certificates before it issues them.
 */
export const certificateInventory: Controller = {
  name: "certificate-inventory",
  start(context) {
    const { client, informers, log, names } = context;
    const requests = informers.of(certificateSigningRequestResource(names));
    const records = informers.of(issuedCertificateResource(names));
    const writer = client.resource(issuedCertificateResource(names));

    /**
     * Whether a certificate is recorded. The cached records may be older than a request that was just signed, so this also asks the server.
     */
    const isRecorded = async (certificate: Certificate, requestUid: string): Promise<boolean> => {
      if (records.get(fingerprintRecordName(certificate)) !== undefined) return true;
      const ownName = signedRecordName(requestUid);
      const own = records.get(ownName) ?? (await writer.find(ownName));
      return own !== undefined && isRecordOf(own, certificate);
    };
    const queue = requestQueue(context, {
      reconcile: async (request) => {
        const text = readIssuedText(request.status.certificate ?? "");
        if (text.isRecorded) return isRecordedAlready;
        const { leaf: certificate } = text;
        if (certificate === "unreadable") {
          log.info(
            { controller: this.name, request: request.metadata.name },
            "the certificate cannot be parsed, so it is not recorded",
          );
          return "nothing to do: the certificate cannot be parsed";
        }
        if (certificate === undefined) return "nothing to do: the request has no certificate";
        if (await isRecorded(certificate, request.metadata.uid ?? "")) return isRecordedAlready;
        const recordName = fingerprintRecordName(certificate);
        await ignoreCodes([409], writer.create(certificateRecord({ recordName, certificate, request })));
        return "recorded the certificate";
      },
    });
    const add = ({ metadata, status }: CertificateSigningRequest): void => {
      if (status.certificate && !readIssuedText(status.certificate).isRecorded) queue.add(metadata.name ?? "");
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

interface CertificateRecordCleanerOptions {
  /** How long a record is kept after its certificate has expired, in milliseconds. */
  readonly retentionMilliseconds: number;
}

/** Removes records of certificates that expired long ago. */
export const certificateRecordCleaner = ({ retentionMilliseconds }: CertificateRecordCleanerOptions): Controller =>
  hourlyCleaner({
    name: "certificate-record-cleaner",
    resource: issuedCertificateResource,
    what: "records of certificates that expired long ago",
    isDue:
      ({ clock }) =>
      ({ spec }) =>
        Date.parse(spec.notAfter) < clock.now() - retentionMilliseconds,
  });
