import type { CertificateRequest } from "../../../pki/certificate-request.ts";
import { parseCertificateRequestPem } from "../../../pki/certificate-request.ts";
import { PkiError } from "../../../pki/pki-error.ts";
import type { CertificateSigningRequest } from "../requests/certificate-signing-request-schema.ts";
import { wellKnownSigners } from "./signers.ts";
import { issuingViolations } from "./issue.ts";
import { serverNameViolations } from "./server-identity.ts";
import type { ServerIdentity } from "./server-identity.ts";
import type { SigningAuthority } from "../authorities/signing-authority.ts";
import { certificateRequestState } from "../requests/certificate-request-state.ts";
import { controllerQueue } from "../../../machinery/loops/controller.ts";
import type { Controller } from "../../../machinery/loops/controller.ts";
import { issueOnce } from "./issue-once.ts";
import { withCondition } from "../requests/with-condition.ts";

export interface CsrSigningOptions {
  /** The CA of a signer, read at each signature: its files may have changed. Undefined: that signer is not run here. */
  authorityFor(signerName: string): SigningAuthority | undefined;
  /** How clients know the API server: no CA that they believe signs its names. Throws while it is not known. */
  readonly server: () => ServerIdentity;
  /** The longest validity, in seconds. */
  readonly maximumLifetimeSeconds: number;
}

const endedMessage =
  "the certificate that was issued for this request ended before it could be handed out: make a new request";

/** Signs approved requests of the well-known signers, and fails those that break their signer's rules. */
export function csrSigning({ authorityFor, server, maximumLifetimeSeconds }: CsrSigningOptions): Controller {
  return {
    name: "csrsigning",
    start(context) {
      const { client, clock, informers, names, references } = context;
      const signers = new Map(wellKnownSigners(names).map((signer) => [signer.name, signer]));
      const requests = informers.of(references.certificateSigningRequests);
      const records = informers.of(references.issuedCertificates);
      const writer = client.resource(references.certificateSigningRequests);

      const fail = async (
        stored: CertificateSigningRequest,
        { reason, message }: { readonly reason: string; readonly message: string },
      ): Promise<string> => {
        const failed = withCondition(stored, { type: "Failed", reason, message }, clock.now());
        await writer.update(failed, { subresource: "status" });
        return `failed the request: ${reason}`;
      };

      const reconcile = async (name: string): Promise<string> => {
        const stored = requests.get(name);
        if (stored === undefined) return "nothing to do: the request is gone";
        const state = certificateRequestState(stored);
        if (state !== "approved") return `nothing to do: the request is ${state}`;
        const { signerName, usages = [] } = stored.spec;
        const signer = signers.get(signerName);
        const authority = authorityFor(signerName);
        if (signer === undefined) return "nothing to do: another program signs for this signer";
        if (authority === undefined) return "nothing to do: the signer has no CA here";

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
        const issued = await issueOnce(context, { records, stored, request, authority, maximumLifetimeSeconds });
        if (issued.type === "ended") return fail(stored, { reason: "CertificateEnded", message: endedMessage });
        const { certificate } = issued;
        await writer.update({ ...stored, status: { ...stored.status, certificate } }, { subresource: "status" });
        return "signed the request";
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
