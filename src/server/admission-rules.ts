import type { AdmissionRule, Authorize } from "../machinery/api/attributes.ts";
import type { Names } from "../machinery/api/names.ts";
import { certificateApproval } from "../features/certificates/requests/certificate-approval.ts";
import { certificateSigning } from "../features/certificates/requests/certificate-signing.ts";
import { certificateSubjectRestriction } from "../features/certificates/requests/certificate-subject-restriction.ts";
import { clusterTrustBundleAttest } from "../features/certificates/bundles/cluster-trust-bundle-attest.ts";
import { namespaceLifecycle } from "../features/core/namespace-lifecycle.ts";
import type { NamespaceLifecycleOptions } from "../features/core/namespace-lifecycle.ts";
import { nodeRestriction } from "../features/nodes/restriction/node-restriction.ts";
import type { NodeRestrictionOptions } from "../features/nodes/restriction/node-restriction.ts";
import type { PodReferences } from "../features/nodes/pods/pod-object.ts";
import { ownerReferencesPermission } from "../features/core/owner-references-permission.ts";
import type { OwnerReferencesPermissionOptions } from "../features/core/owner-references-permission.ts";
import { serviceAccountRule } from "../features/accounts/service-account-admission.ts";
import type { ServiceAccountRuleOptions } from "../features/accounts/service-account-admission.ts";

/** What the rules look up: always the state that every acknowledged write has left. */
export interface AdmissionOptions {
  readonly names: Names;
  readonly authorize: Authorize;
  readonly apiAudiences: readonly string[];
  readonly podReferences: PodReferences;
  readonly generateName: ServiceAccountRuleOptions["generateName"];
  readonly findNamespace: NamespaceLifecycleOptions["findNamespace"];
  readonly findServiceAccount: ServiceAccountRuleOptions["findServiceAccount"];
  readonly findPod: NodeRestrictionOptions["findPod"];
  readonly findNode: NodeRestrictionOptions["findNode"];
  readonly findResource: OwnerReferencesPermissionOptions["findResource"];
}

/** Every rule, in the order in which they are asked (upstream's recommended order). */
export const admissionRules = (options: AdmissionOptions): AdmissionRule[] => [
  namespaceLifecycle(options),
  nodeRestriction(options),
  serviceAccountRule(options),
  ownerReferencesPermission(options),
  certificateApproval(options),
  certificateSigning(options),
  clusterTrustBundleAttest(options),
  certificateSubjectRestriction(options),
];
