import type { ApiObject } from "../../machinery/api/object-meta.ts";
import { parseRequestField } from "../../pki/requests/certificate-request.ts";
import type { CertificateRequest } from "../../pki/requests/certificate-request.ts";
import { orPkiError, PkiError } from "../../pki/pki-error.ts";

/** What the admission rules of nodes read of a CertificateSigningRequest, whose feature knows this one. */
export interface SigningRequest extends ApiObject {
  readonly spec: {
    readonly signerName: string;
    readonly request?: string;
    readonly username?: string;
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
  readonly status?: {
    readonly certificate?: string;
    readonly conditions?: readonly { readonly type: string }[];
  };
}

// The registry decodes what is written to a resource with that resource's schema, so that the path tells the type.
export const asSigningRequest = (object: ApiObject): SigningRequest => object as SigningRequest;

/** The certificate request in `spec.request`. Undefined for one that cannot be read: its validation says why. */
export function requestedCertificate({ spec: { request = "" } }: SigningRequest): CertificateRequest | undefined {
  const parsed = orPkiError(() => parseRequestField(request));
  return parsed instanceof PkiError ? undefined : parsed;
}
