import type { AdmissionAttributes } from "../../../machinery/api/attributes.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";

/** The fields of a CertificateSigningRequest that admission reads. */
export interface SigningRequest extends ApiObject {
  readonly spec: { readonly signerName: string; readonly request?: string };
  readonly status: { readonly certificate?: string; readonly conditions?: readonly unknown[] };
}

/** Whether a write is for certificate requests, or for the named subresource. */
export const isOnSigningRequest = (attributes: AdmissionAttributes, names: Names, subresource = ""): boolean =>
  attributes.resource === "certificatesigningrequests" &&
  attributes.group === names.group("certificates") &&
  attributes.subresource === subresource;

// The registry decodes what is written to a resource with that resource's schema, so the path determines the type.
export const asSigningRequest = (object: ApiObject): SigningRequest => object as SigningRequest;
