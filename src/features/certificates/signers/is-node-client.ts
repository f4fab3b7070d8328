import type { Names } from "../../../machinery/api/names.ts";
import type { CertificateRequest } from "../../../pki/certificate-request.ts";
import { findWellKnownSigner } from "./well-known-signers.ts";

/**
 * The subresources of certificatesigningrequests. The permission to `create` one allows automatic approval of a node's
 * request.
 */
export type NodeClientSubresource = "selfnodeclient" | "nodeclient";

export interface NodeClientInput {
  readonly signerName: string;
  /** The requester in the stored request. */
  readonly username: string;
  readonly usages: readonly string[];
  readonly request: CertificateRequest;
}

/**
 * Returns the subresources that may allow a request, in the order to check them: a node's own renewal, then any node's
 * certificate. Empty for a request that is not for a node client certificate (upstream: csrapproving's recognizers).
 */
export function nodeClientSubresources(names: Names, input: NodeClientInput): NodeClientSubresource[] {
  const { signerName, username, usages, request } = input;
  const signer = findWellKnownSigner(names, signerName);
  if (signer?.isApprovedAutomatically !== true || signer.violations(request, usages).length > 0) return [];
  return username === request.subject.commonName ? ["selfnodeclient", "nodeclient"] : ["nodeclient"];
}
