import type { AdmissionRule, Authorize } from "../../machinery/api/attributes.ts";
import type { Names } from "../../machinery/api/names.ts";
import { kind } from "../../machinery/feature.ts";
import type { Feature } from "../../machinery/feature.ts";
import {
  clusterTrustBundleAttest,
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
} from "./certificate-admission.ts";
import { clusterTrustBundles } from "./bundles/cluster-trust-bundles.ts";
import { issuedCertificates } from "./inventory/issued-certificates.ts";
import { certificateSigningRequests } from "./requests/certificate-signing-requests.ts";
import { certificateFlags } from "./settings.ts";

export { certificateControllers } from "./certificate-controllers.ts";

/** Certificates: requests, approval by people and policies, signing, inventory, and trust bundles. */
export const certificatesFeature = {
  name: "certificates",
  kinds: [kind(certificateSigningRequests), kind(clusterTrustBundles), kind(issuedCertificates)],
  flags: certificateFlags,
} as const satisfies Feature;

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
