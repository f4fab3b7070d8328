import type { Names } from "../../../machinery/api/names.ts";
import type { CertificateRequest } from "../../../pki/certificate-request.ts";
import { findWellKnownSigner } from "./well-known-signers.ts";

/** The subresources of certificatesigningrequests whose `create` allows the automatic approval of a node's request. */
export type NodeClientSubresource = "selfnodeclient" | "nodeclient";

export interface NodeClientInput {
  readonly signerName: string;
  /** Who asked, as the stored request says. */
  readonly username: string;
  readonly usages: readonly string[];
  readonly request: CertificateRequest;
}

/**
 * What `csrapproving` may approve a request as, in the order to review access in: a node's own renewal first, then any
 * node's certificate. Empty for a request that is not a node client's (upstream: csrapproving's recognizers).
 */
export function nodeClientSubresources(names: Names, input: NodeClientInput): NodeClientSubresource[] {
  const { signerName, username, usages, request } = input;
  const signer = findWellKnownSigner(names, signerName);
  if (signer?.isApprovedAutomatically !== true || signer.violations(request, usages).length > 0) return [];
  return username === request.subject.commonName ? ["selfnodeclient", "nodeclient"] : ["nodeclient"];
}
