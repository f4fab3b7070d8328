import type { AdmissionRule, Authorize } from "../api/attributes.ts";
import type { Names } from "../api/names.ts";
import { certificateApproval } from "./certificate-approval.ts";
import { certificateSigning } from "./certificate-signing.ts";
import { certificateSubjectRestriction } from "./certificate-subject-restriction.ts";
import { clusterTrustBundleAttest } from "./cluster-trust-bundle-attest.ts";
import { namespaceLifecycle } from "./namespace-lifecycle.ts";
import type { NamespaceLifecycleOptions } from "./namespace-lifecycle.ts";
import { nodeRestriction } from "./node-restriction.ts";
import type { NodeRestrictionOptions } from "./node-restriction.ts";
import type { PodReferences } from "./pod-object.ts";
import { ownerReferencesPermission } from "./owner-references-permission.ts";
import type { OwnerReferencesPermissionOptions } from "./owner-references-permission.ts";
import { serviceAccountRule } from "./service-account.ts";
import type { ServiceAccountRuleOptions } from "./service-account.ts";

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
