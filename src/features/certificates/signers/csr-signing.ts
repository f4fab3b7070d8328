import { ApiError } from "../../../machinery/api/api-error.ts";
import { shortened } from "../../../machinery/api/format-value.ts";
import type { CertificateRequest } from "../../../pki/certificate-request.ts";
import { parseCertificateRequestPem } from "../../../pki/certificate-request.ts";
import { PkiError } from "../../../pki/pki-error.ts";
import type { CertificateSigningRequest } from "../requests/certificate-signing-request-schema.ts";
import { issuingViolations } from "./issue.ts";
import { serverNameViolations } from "./server-identity.ts";
import type { ServerIdentity } from "./server-identity.ts";
import type { RunningSigner } from "./running-signers.ts";
import { certificateRequestState } from "../requests/certificate-request-state.ts";
import { controllerQueue } from "../../../machinery/loops/controller.ts";
import type { Controller } from "../../../machinery/loops/controller.ts";
import { issueOnce } from "./issue-once.ts";
import { withCondition } from "../requests/with-condition.ts";
import { certificateSigningRequestResource, issuedCertificateResource } from "../resources.ts";

export interface CsrSigningOptions {
  /** Asked at each signature: files may have changed. Undefined: that signer is not run here. */
  findSigner(signerName: string): RunningSigner | undefined;
  /** How clients know the API server: no CA that they believe signs its names. Throws while it is not known. */
  readonly server: () => ServerIdentity;
}

const endedMessage =
  "the certificate that was issued for this request ended before it could be handed out: make a new request";

/** Signs approved requests of the signers that run here, and fails those that break their signer's rules. */
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
        const failed = withCondition(stored, condition, clock.now());
        await writer.update(failed, { subresource: "status" });
        return `failed the request: ${reason}`;
      };

      const reconcile = async (name: string): Promise<string> => {
        const stored = requests.get(name);
        if (stored === undefined) return "nothing to do: the request is gone";
        const state = certificateRequestState(stored);
        if (state !== "approved") return `nothing to do: the request is ${state}`;
        const { signerName, usages = [] } = stored.spec;
        const signer = findSigner(signerName);
        if (signer === undefined) return "nothing to do: no signer here has this name and a CA";
        const { authority, lifetime } = signer;

        const request = parse(stored.spec.request ?? "");
        const faults =
          request instanceof PkiError
            ? [request.message]
            : [
                ...signer.violations(request, usages),
                ...issuingViolations(request, authority.path),
                ...serverNameViolations(request.subjectAltNames, { authority, server: server() }),
              ];
        if (request instanceof PkiError || faults.length > 0) {
          return fail(stored, { reason: "SignerValidationFailure", message: faults.join("; ") });
        }
        try {
          const issued = await issueOnce(context, { records, stored, request, authority, lifetime });
          if (issued.type === "ended") return await fail(stored, { reason: "CertificateEnded", message: endedMessage });
          const { certificate } = issued;
          await writer.update({ ...stored, status: { ...stored.status, certificate } }, { subresource: "status" });
          return "signed the request";
        } catch (error) {
          if (!(error instanceof ApiError) || error.code !== 413) throw error;
          // It will be as large at every other attempt.
          const message = `the certificate has no room beside the request: ${error.message}`;
          return await fail(stored, { reason: "CertificateTooLarge", message });
        }
      };
      // Each waits for two writes to be on disk, which all that are under way share.
      const queue = controllerQueue(this.name, context, reconcile, { concurrency: 64 });
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
    return parseCertificateRequestPem(Buffer.from(base64, "base64"));
  } catch (error) {
    if (error instanceof PkiError) return error;
    throw error;
  }
}
