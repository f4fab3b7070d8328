import type { AdmissionRule } from "../../../machinery/api/attributes.ts";
import { isSemanticallyEqual } from "../../../machinery/api/json-equality.ts";
import { admissionForbidden } from "../../../machinery/registry/admission-forbidden.ts";
import { isPermittedForSigner } from "../signer-permission.ts";
import type { SignerRuleOptions } from "../signer-permission.ts";
import { asSigningRequest, isOnSigningRequest } from "./signing-request.ts";

/**
 * A write to `status` that changes the certificate or a condition requires the permission to `sign` for the signer of
 * the stored request (upstream: CertificateSigning).
 */
export const certificateSigning = (options: SignerRuleOptions): AdmissionRule => ({
  name: "CertificateSigning",
  appliesTo: (attributes) =>
    attributes.operation === "UPDATE" && isOnSigningRequest(attributes, options.names, "status"),
  async validate(attributes) {
    const { object, oldObject, user } = attributes;
    if (object === undefined || oldObject === undefined) return;
    const next = asSigningRequest(object).status;
    const { spec, status: previous } = asSigningRequest(oldObject);
    const isCertificateKept = (next.certificate ?? "") === (previous.certificate ?? "");
    if (isCertificateKept && isSemanticallyEqual(next.conditions, previous.conditions)) return;
    if (await isPermittedForSigner(options, { user, verb: "sign", signerName: spec.signerName })) return;
    const signer = JSON.stringify(spec.signerName);
    throw admissionForbidden(attributes, `user not permitted to sign requests with signerName ${signer}`);
  },
});
