import type { CertificateRequest } from "../pki/certificate-request.ts";
import { parseCertificateRequestPem } from "../pki/certificate-request.ts";
import { PkiError } from "../pki/pki-error.ts";
import type { CertificateSigningRequest } from "../resources/certificates/certificate-signing-request-schema.ts";
import { wellKnownSigners } from "../signers/index.ts";
import { issueCertificate, issuingViolations } from "../signers/issue.ts";
import type { SigningAuthority } from "../signers/signing-authority.ts";
import { recordCertificate } from "./certificate-inventory.ts";
import { certificateRequestState } from "./certificate-request-state.ts";
import { controllerQueue } from "./controller.ts";
import type { Controller } from "./controller.ts";
import { withCondition } from "./with-condition.ts";

export interface CsrSigningOptions {
  /** The CA of a signer, read at each signature: its files may have changed. Undefined: that signer is not run here. */
  authorityFor(signerName: string): SigningAuthority | undefined;
  /** The longest validity, in seconds. */
  readonly maximumLifetimeSeconds: number;
}

/** Signs approved requests of the well-known signers, and fails those that break their signer's rules. */
export function csrSigning({ authorityFor, maximumLifetimeSeconds }: CsrSigningOptions): Controller {
  return {
    name: "csr-signing",
    start(context) {
      const { client, clock, informers, names, references } = context;
      const signers = new Map(wellKnownSigners(names).map((signer) => [signer.name, signer]));
      const requests = informers.of(references.certificateSigningRequests);
      const writer = client.resource(references.certificateSigningRequests);

      const reconcile = async (name: string): Promise<void> => {
        const stored = requests.get(name);
        if (stored === undefined || certificateRequestState(stored) !== "approved") return;
        const { signerName, expirationSeconds, usages = [] } = stored.spec;
        const signer = signers.get(signerName);
        const authority = authorityFor(signerName);
        if (signer === undefined || authority === undefined) return;

        const request = parse(stored.spec.request ?? "");
        const faults =
          request instanceof PkiError
            ? [request.message]
            : [...signer.violations(request, usages), ...issuingViolations(request, authority.path)];
        if (request instanceof PkiError || faults.length > 0) {
          const condition = { type: "Failed", reason: "SignerValidationFailure", message: faults.join("; ") } as const;
          await writer.update(withCondition(stored, condition, clock.now()), { subresource: "status" });
          return;
        }
        const now = clock.now();
        const issued = issueCertificate({ request, usages, expirationSeconds, authority, maximumLifetimeSeconds, now });
        // Nothing goes out that the inventory does not know.
        await recordCertificate(context, { certificate: issued.certificate, request: stored });
        const certificate = Buffer.from(issued.pem + authority.chainPem, "utf8").toString("base64");
        await writer.update({ ...stored, status: { ...stored.status, certificate } }, { subresource: "status" });
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
