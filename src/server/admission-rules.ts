import type { Log } from "../machinery/logging/log.ts";
import type { ConnectedAccess } from "../features/access/feature.ts";
import { connectAdmission } from "../features/admission/feature.ts";
import type { ConnectedAdmission, AdmissionConnection } from "../features/admission/feature.ts";
import type { ConnectedAccounts } from "../features/accounts/feature.ts";
import type { ConnectedCertificates } from "../features/certificates/feature.ts";
import type { ConnectedCore } from "../features/core/feature.ts";
import type { ConnectedNodes } from "../features/nodes/feature.ts";
import type { AdmissionRule } from "../machinery/api/attributes.ts";
import { isServer } from "./loopback-users.ts";

interface AdmittingFeatures {
  readonly core: ConnectedCore;
  readonly accounts: ConnectedAccounts;
  readonly access: ConnectedAccess;
  readonly admission: ConnectedAdmission;
  readonly certificates: ConnectedCertificates;
  readonly nodes: ConnectedNodes;
}

/**
 * Every admission rule, in the order of evaluation. It is upstream's recommended order, but with NodeRestriction before ServiceAccount, so
 * that a node that may not create a Pod learns nothing about accounts. The order is a security decision.
 */
export const admissionRules = ({
  core,
  accounts,
  access,
  admission,
  certificates,
  nodes,
}: AdmittingFeatures): AdmissionRule[] => [
  core.admission.namespaceLifecycle,
  nodes.admission.nodeRestriction,
  accounts.admission.serviceAccount,
  core.admission.podSecurityLabels,
  core.admission.ownerReferencesPermission,
  certificates.admission.certificateApproval,
  certificates.admission.certificateSigning,
  certificates.admission.clusterTrustBundleAttest,
  certificates.admission.certificateSubjectRestriction,
  access.admission.roleEscalation,
  access.admission.bindingEscalation,
  admission.admission.policyExpressions,
  admission.admission.paramPermission,
  admission.admission.validatingAdmissionPolicy,
  nodes.admission.nodeLock,
  // Last, because it uses up a token, and no later rule may refuse the request.
  nodes.admission.bootstrapToken,
];

/** Opens admission policies. The server's own writes are exempt, because it could not start otherwise. */
export const openAdmission = ({
  log,
  ...connection
}: Omit<AdmissionConnection, "isExempt" | "onFailure"> & { readonly log: Log }): Promise<ConnectedAdmission> =>
  connectAdmission({
    ...connection,
    isExempt: isServer,
    onFailure: (error) => log.error({ err: error }, "could not load what evaluates admission policies"),
  });
