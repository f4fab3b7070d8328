import type { Names } from "../../../machinery/api/names.ts";
import type { CertificateRequest } from "../../../pki/certificate-request.ts";

/** What `csrsigning` asks about a request. */
export interface SignerRules {
  /** Every rule that the request breaks, one sentence each; empty when it may be signed. */
  violations(request: CertificateRequest, usages: readonly string[]): string[];
}

/**
 * Everything that is special about a signer of the server's own. Flags, files, CAs, trust bundles, roles, warnings and
 * approval follow from it: a new signer is a file with such a record, and a line in `wellKnownSigners`.
 */
export interface WellKnownSigner extends SignerRules {
  /** In the names of flags and files: `--cluster-signing-<shortName>-cert-file`, `<shortName>-ca.crt`. */
  readonly shortName: string;
  /** The `spec.signerName` of its requests. */
  nameIn(names: Names): string;
  /** Whom the subject of a certificate names. Only a node's may be a reserved name. */
  readonly certifies: "user" | "node";
  /** Whether the API server believes client certificates of its CA. */
  readonly isClientAuthenticating: boolean;
  /** Whether a certificate holds names and addresses of the requesting node, which `signet csr describe` compares. */
  readonly holdsNodeNames: boolean;
  /** Whether `csrapproving` approves requests that keep the rules, when the requester has the right to it. */
  readonly isApprovedAutomatically: boolean;
}
