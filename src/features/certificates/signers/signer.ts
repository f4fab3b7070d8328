import type { CertificateRequest } from "../../../pki/certificate-request.ts";

/** A signer that issues by itself: its name and the rules that its requests must keep. */
export interface Signer {
  readonly name: string;
  /** Every rule that the request breaks, one sentence each; empty when it may be signed. */
  violations(request: CertificateRequest, usages: readonly string[]): string[];
}
