import type { ApiObject } from "../../machinery/api/object-meta.ts";
import { parseRequestField } from "../../pki/requests/certificate-request.ts";
import type { CertificateRequest } from "../../pki/requests/certificate-request.ts";
import { orPkiError, PkiError } from "../../pki/pki-error.ts";

/** The fields of a CertificateSigningRequest that the admission rules of nodes read. The feature of these requests imports this one. */
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

// The path determines the type: the registry decodes objects with the schema of their resource.
export const asSigningRequest = (object: ApiObject): SigningRequest => object as SigningRequest;

/** The certificate request in `spec.request`. Undefined for a request that cannot be read; its validation reports the reason. */
export function requestedCertificate({ spec: { request = "" } }: SigningRequest): CertificateRequest | undefined {
  const parsed = orPkiError(() => parseRequestField(request));
  return parsed instanceof PkiError ? undefined : parsed;
}
