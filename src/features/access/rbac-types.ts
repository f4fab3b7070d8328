import type { ApiObject } from "../../machinery/api/object-meta.ts";

/** Upstream's `rbac/v1` kinds, as the authorizer, the escalation check and the default policy use them. */
export interface PolicyRule {
  verbs: string[] | null;
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

export interface Subject {
  kind: string;
  apiGroup?: string;
  name: string;
  namespace?: string;
}

export interface RoleRef {
  apiGroup: string;
  /** `Role` or `ClusterRole`. */
  kind: string;
  name: string;
}

export interface Role extends ApiObject {
  rules: PolicyRule[] | null;
}

export interface ClusterRole extends Role {
  aggregationRule?: AggregationRule;
}

interface AggregationRule {
  clusterRoleSelectors?: LabelSelectorObject[];
}

/** A label selector in its structured form (upstream: `metav1.LabelSelector`). */
export interface LabelSelectorObject {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

/** A RoleBinding, or a ClusterRoleBinding (its metadata has no namespace). */
export interface RoleBinding extends ApiObject {
  subjects?: Subject[];
  roleRef: RoleRef;
}

export const roleResourceOf = ({ kind }: RoleRef): string => (kind === "ClusterRole" ? "clusterroles" : "roles");
