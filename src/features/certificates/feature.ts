import type { AdmissionRule, Authorize } from "../../machinery/api/attributes.ts";
import type { Names } from "../../machinery/api/names.ts";
import { kind } from "../../machinery/registry/definition/kind.ts";
import {
  clusterTrustBundleAttest,
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
} from "./certificate-admission.ts";
import { clusterTrustBundles } from "./bundles/cluster-trust-bundles.ts";
import { issuedCertificates } from "./inventory/issued-certificates.ts";
import { certificateSigningRequests } from "./requests/certificate-signing-requests.ts";
import type { CertificateStatusOptions, CertificateStatusService } from "./status/certificate-status.ts";

export { certificateControllers } from "./certificate-controllers.ts";

/** Certificates: requests, approval by people and policies, signing, inventory, and trust bundles. */
export const certificateKinds = [
  kind(certificateSigningRequests),
  kind(clusterTrustBundles),
  kind(issuedCertificates),
] as const;

export interface ConnectedCertificates {
  readonly admission: Readonly<
    Record<
      "certificateApproval" | "certificateSigning" | "clusterTrustBundleAttest" | "certificateSubjectRestriction",
      AdmissionRule
    >
  >;
}

export function connectCertificates(options: {
  readonly names: Names;
  readonly authorize: Authorize;
}): ConnectedCertificates {
  return {
    admission: {
      certificateApproval: certificateApproval(options),
      certificateSigning: certificateSigning(options),
      clusterTrustBundleAttest: clusterTrustBundleAttest(options),
      certificateSubjectRestriction: certificateSubjectRestriction(options),
    },
  };
}

/** Opens the service of `--revocation-url`, whose code is loaded only then. Call it after the registries have started. */
export async function connectCertificateStatus(options: CertificateStatusOptions): Promise<CertificateStatusService> {
  const { openCertificateStatus } = await import("./status/certificate-status.ts");
  return await openCertificateStatus(options);
}
