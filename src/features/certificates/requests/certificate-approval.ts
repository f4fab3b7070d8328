import type { AdmissionRule } from "../../../machinery/api/attributes.ts";
import { admissionForbidden } from "../../../machinery/registry/admission-forbidden.ts";
import { isPermittedForSigner } from "../signer-permission.ts";
import type { SignerRuleOptions } from "../signer-permission.ts";
import { asSigningRequest, isOnSigningRequest } from "./signing-request.ts";

/**
 * Every write to `approval`, even one that changes nothing, requires the permission to `approve` for the signer of the
 * stored request, whatever signer the body names (upstream: CertificateApproval).
 */
export const certificateApproval = (options: SignerRuleOptions): AdmissionRule => ({
  name: "CertificateApproval",
  appliesTo: (attributes) =>
    attributes.operation === "UPDATE" && isOnSigningRequest(attributes, options.names, "approval"),
  async validate(attributes) {
    const { oldObject, user } = attributes;
    if (oldObject === undefined) return;
    const { signerName } = asSigningRequest(oldObject).spec;
    if (await isPermittedForSigner(options, { user, verb: "approve", signerName })) return;
    throw admissionForbidden(
      attributes,
      `user not permitted to approve requests with signerName ${JSON.stringify(signerName)}`,
    );
  },
});
