import type { AdmissionRule } from "../../../machinery/api/attributes.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { mastersGroup } from "../../../machinery/api/user-info.ts";
import { parseRequestField } from "../../../pki/certificate-request.ts";
import { PkiError } from "../../../pki/pki-error.ts";
import { admissionForbidden } from "../../../machinery/registry/admission-forbidden.ts";
import { findWellKnownSigner } from "../signers/well-known-signers.ts";
import { asSigningRequest, isOnSigningRequest } from "./signing-request.ts";

/**
 * Refuses requests for client certificates with the organization `system:masters`: RBAC could not take away its
 * permissions (upstream: CertificateSubjectRestriction).
 */
export const certificateSubjectRestriction = ({ names }: { readonly names: Names }): AdmissionRule => ({
  name: "CertificateSubjectRestriction",
  appliesTo: (attributes) => attributes.operation === "CREATE" && isOnSigningRequest(attributes, names),
  validate(attributes) {
    const { object } = attributes;
    if (object === undefined) return;
    const { signerName, request = "" } = asSigningRequest(object).spec;
    if (findWellKnownSigner(names, signerName)?.certifies !== "user") return;
    try {
      const { subject } = parseRequestField(request);
      if (!subject.organizations.includes(mastersGroup)) return;
    } catch (error) {
      if (error instanceof PkiError) throw admissionForbidden(attributes, `failed to parse CSR: ${error.message}`);
      throw error;
    }
    throw admissionForbidden(attributes, `use of ${signerName} signer with ${mastersGroup} group is not allowed`);
  },
});
