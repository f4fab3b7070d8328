import { ApiError } from "../../../machinery/api/api-error.ts";
import { shortened } from "../../../machinery/api/format-value.ts";
import { parseRequestField } from "../../../pki/certificate-request.ts";
import type { CertificateRequest } from "../../../pki/certificate-request.ts";
import { PkiError } from "../../../pki/pki-error.ts";
import type { CertificateSigningRequest } from "../requests/certificate-signing-request-schema.ts";
import { issuingFaults, usageFaults } from "./issue.ts";
import { serverNameFaults } from "./server-identity.ts";
import type { ServerIdentity } from "./server-identity.ts";
import type { RunningSigner } from "./running-signers.ts";
import { certificateRequestState, withCondition } from "../requests/certificate-request-state.ts";
import { requestQueue } from "../requests/request-queue.ts";
import type { Controller } from "../../../machinery/loops/controller.ts";
import { issueOnce } from "./issue-once.ts";
import { certificateSigningRequestResource, issuedCertificateResource } from "../resources.ts";

export interface CsrSigningOptions {
  /** Called for each signature, because files may have changed. Undefined: the signer does not run here. */
  findSigner(signerName: string): RunningSigner | undefined;
  /**
   * The API server's names and CAs: a CA that its clients trust must not sign its names. Throws while they are not
   * known.
   */
  readonly server: () => ServerIdentity;
}

/** How often to look whether the signer of an approved request runs here now. */
const intervalMilliseconds = 10_000;

const endedMessage = "the certificate for this request expired before it could be returned: create a new request";

/** Signs approved requests for the signers that run here. Fails requests that break their signer's rules. */
export function csrSigning({ findSigner, server }: CsrSigningOptions): Controller {
  return {
    name: "csrsigning",
    start(context) {
      const { client, clock, informers, names } = context;
      const requests = informers.of(certificateSigningRequestResource(names));
      const records = informers.of(issuedCertificateResource(names));
      const writer = client.resource(certificateSigningRequestResource(names));

      const fail = async (
        stored: CertificateSigningRequest,
        { reason, message }: { readonly reason: string; readonly message: string },
      ): Promise<string> => {
        const condition = { type: "Failed", reason, message: shortened(message) } as const;
        const failed = withCondition(stored, { ...condition, now: clock.now() });
        await writer.update(failed, { subresource: "status" });
        return `failed the request: ${reason}`;
      };

      const reconcile = async (stored: CertificateSigningRequest): Promise<string> => {
        const { signerName, usages = [] } = stored.spec;
        const signer = findSigner(signerName);
        if (signer === undefined) {
          // A file may name it later.
          queue.addAfter(stored.metadata.name ?? "", intervalMilliseconds);
          return "waits: no signer here has this name and a CA";
        }
        const { authority, lifetime, revocationUrls } = signer;

        const request = parse(stored.spec.request ?? "");
        const faults =
          request instanceof PkiError
            ? [request.message]
            : [
                ...signer.faults(request, usages),
                ...issuingFaults(request, authority.path),
                ...usageFaults(usages, authority.path),
                ...serverNameFaults(request.subjectAltNames, { authority, server: server() }),
              ];
        if (request instanceof PkiError || faults.length > 0) {
          return fail(stored, { reason: "SignerValidationFailure", message: faults.join("; ") });
        }
        try {
          const issued = await issueOnce(context, { records, stored, request, authority, lifetime, revocationUrls });
          if (issued === "ended") return await fail(stored, { reason: "CertificateEnded", message: endedMessage });
          return "signed the request";
        } catch (error) {
          if (!(error instanceof ApiError) || error.code !== 413) throw error;
          // Every other attempt would produce the same size.
          const message = `the request with its certificate is too large: ${error.message}`;
          return await fail(stored, { reason: "CertificateTooLarge", message });
        }
      };
      // Each request waits for a disk write. Concurrent requests share it.
      const queue = requestQueue(context, { name: this.name, state: "approved", reconcile, concurrency: 64 });
      const add = (request: CertificateSigningRequest): void => {
        if (certificateRequestState(request) === "approved") queue.add(request.metadata.name ?? "");
      };
      requests.addHandler({ onAdd: add, onUpdate: add });
      return { queue };
    },
  };
}

/** The request's own signature was checked when it was created, and it has not changed since. */
function parse(base64: string): CertificateRequest | PkiError {
  try {
    return parseRequestField(base64);
  } catch (error) {
    if (error instanceof PkiError) return error;
    throw error;
  }
}
