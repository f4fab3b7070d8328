import type { Names } from "../../../machinery/api/names.ts";
import type { CertificateRequest } from "../../../pki/requests/certificate-request.ts";

/** The rules that `csrsigning` checks. */
export interface SignerRules {
  /** Every rule that the request breaks, one sentence each; empty when it may be signed. */
  faults(request: CertificateRequest, usages: readonly string[]): string[];
}

/**
 * The specific properties of one of the server's own signers. Flags, files, CAs, trust bundles, roles, warnings and approval derive from
 * them. To add a signer, add a file with such a record and a line in `wellKnownSigners`.
 */
export interface WellKnownSigner extends SignerRules {
  /** The part of the names of flags and files: `--cluster-signing-<shortName>-cert-file`, `<shortName>-ca.crt`. */
  readonly shortName: string;
  /** The `spec.signerName` of its requests. */
  nameIn(names: Names): string;
  /** What the subject of a certificate names. Reserved names (see `isReserved`) are allowed for nodes only. */
  readonly certifies: "user" | "node";
  /** Whether the API server trusts client certificates of its CA. */
  readonly isClientAuthenticating: boolean;
  /**
   * Whether certificates contain names and addresses of the requesting node. `signet csr describe` then compares them.
   */
  readonly holdsNodeNames: boolean;
  /** Whether `csrapproving` approves requests that meet the rules, when the requester has the permission. */
  readonly isApprovedAutomatically: boolean;
}
