import { ApiError } from "../../../machinery/api/api-error.ts";
import { shortened } from "../../../machinery/api/text/format-value.ts";
import { parseRequestField } from "../../../pki/requests/certificate-request.ts";
import type { CertificateRequest } from "../../../pki/requests/certificate-request.ts";
import { orPkiError, PkiError } from "../../../pki/pki-error.ts";
import type { CertificateSigningRequest } from "../requests/certificate-signing-request-schema.ts";
import type { IssuedCertificate } from "../inventory/issued-certificates.ts";
import { issuingFaults, usageFaults } from "./issue.ts";
import { serverNameFaults } from "./server-identity.ts";
import type { ServerIdentity } from "./server-identity.ts";
import { hostNamesOf } from "./server-names.ts";
import type { RunningSigner } from "./running-signers.ts";
import { withCondition } from "../requests/certificate-request-state.ts";
import { requestStateQueue } from "../requests/request-queue.ts";
import type { Controller, ControllerContext, StartedController } from "../../../machinery/loops/controller.ts";
import type { FollowedObjects } from "../../../machinery/loops/informer.ts";
import type { WorkQueue } from "../../../machinery/loops/work-queue.ts";
import { issueOnce } from "./issue-once.ts";
import { certificateSigningRequestResource, issuedCertificateResource } from "../resources.ts";

export interface CsrSigningOptions {
  /** Finds the signer of a request. Called for each signature, because files may have changed. Undefined: the signer does not run here. */
  findSigner(signerName: string): RunningSigner | undefined;
  /**
   * The API server's names and CAs. A CA that the server's clients trust must not sign the server's names. Throws while they are not known.
   */
  readonly server: () => ServerIdentity;
}

/** How often to check whether the signer of an approved request runs here now. */
const intervalMilliseconds = 10_000;

const endedMessage = "the certificate for this request expired before it could be returned: create a new request";

/** Signs approved requests for the signers that run here. Fails requests that break their signer's rules. */
export const csrSigning = (options: CsrSigningOptions): Controller => ({
  name: "csrsigning",
  start: (context) => new CsrSigning(context, options),
});

class CsrSigning implements StartedController {
  readonly queue: WorkQueue;
  readonly #context: ControllerContext;
  readonly #options: CsrSigningOptions;
  readonly #records: FollowedObjects<IssuedCertificate>;

  constructor(context: ControllerContext, options: CsrSigningOptions) {
    this.#context = context;
    this.#options = options;
    this.#records = context.informers.of(issuedCertificateResource(context.names));
    this.queue = requestStateQueue(context, {
      state: "approved",
      reconcile: (stored) => this.#sign(stored),
    });
  }

  async #sign(stored: CertificateSigningRequest): Promise<string> {
    const signer = this.#options.findSigner(stored.spec.signerName);
    if (signer === undefined) {
      // The signer configuration may name the signer later.
      this.queue.addAfter(stored.metadata.name ?? "", intervalMilliseconds);
      return "waits: no signer here has this name and a CA";
    }
    // The request's own signature was checked when it was created, and the request cannot change.
    const request = orPkiError(() => parseRequestField(stored.spec.request ?? ""));
    const faults = request instanceof PkiError ? [request.message] : this.#faults(request, { stored, signer });
    if (request instanceof PkiError || faults.length > 0) {
      return this.#fail(stored, { reason: "SignerValidationFailure", message: faults.join("; ") });
    }
    const { authority, lifetime, revocationUrls } = signer;
    const issuing = { records: this.#records, stored, request, authority, lifetime, revocationUrls };
    try {
      if ((await issueOnce(this.#context, issuing)) === "issued") return "signed the request";
      return await this.#fail(stored, { reason: "CertificateEnded", message: endedMessage });
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 413) throw error;
      // Every retry would produce the same size.
      const message = `the request with its certificate is too large: ${error.message}`;
      return await this.#fail(stored, { reason: "CertificateTooLarge", message });
    }
  }

  #faults(
    request: CertificateRequest,
    { stored, signer }: { readonly stored: CertificateSigningRequest; readonly signer: RunningSigner },
  ): readonly string[] {
    const { usages = [] } = stored.spec;
    const { authority } = signer;
    return [
      ...signer.faults(request, usages),
      ...issuingFaults(request, authority.path),
      ...usageFaults(usages, authority.path),
      ...serverNameFaults(hostNamesOf(request, usages), { authority, server: this.#options.server() }),
    ];
  }

  async #fail(
    stored: CertificateSigningRequest,
    { reason, message }: { readonly reason: string; readonly message: string },
  ): Promise<string> {
    const { client, clock, names } = this.#context;
    const condition = { type: "Failed", reason, message: shortened(message) } as const;
    const failed = withCondition(stored, { ...condition, now: clock.now() });
    await client.resource(certificateSigningRequestResource(names)).update(failed, { subresource: "status" });
    return `failed the request: ${reason}`;
  }
}
