import { goQuoted } from "../../../machinery/api/text/format-value.ts";
import type { AdmissionAttributes, Authorize } from "../../../machinery/api/attributes.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import type { Pod } from "../pods/schema/pod-schema.ts";

/** The fields of a TokenRequest that admission reads. */
export interface TokenRequestObject extends ApiObject {
  readonly spec: {
    readonly audiences: readonly string[] | null;
    readonly boundObjectRef?: {
      readonly apiVersion?: string;
      readonly kind?: string;
      readonly name?: string;
      readonly uid?: string;
    } | null;
  };
}

interface AudienceCheck {
  readonly authorize: Authorize;
  readonly pod: Pod;
  readonly audiences: readonly string[];
}

/**
 * Why a node may not request a token for these audiences, or undefined. Without further permission, a node may request one audience at a
 * time that a volume of the Pod names, or no audience if a volume names none. Other audiences require the permission for the verb
 * `request-serviceaccounts-token-audience` (upstream: ServiceAccountNodeAudienceRestriction).
 */
export async function audienceFault(
  { user, namespace, name }: AdmissionAttributes,
  { authorize, pod, audiences }: AudienceCheck,
): Promise<string | undefined> {
  if (audiences.length > 1) return "node may only request 0 or 1 audiences";
  const audience = audiences[0] ?? "";
  const mounted = (pod.spec.volumes ?? []).some(({ projected }) =>
    (projected?.sources ?? []).some(
      ({ serviceAccountToken }) =>
        serviceAccountToken !== undefined && (serviceAccountToken.audience ?? "") === audience,
    ),
  );
  if (mounted) return undefined;
  const { decision } = await authorize({
    kind: "resource",
    user,
    verb: "request-serviceaccounts-token-audience",
    group: "",
    version: "v1",
    resource: audience,
    subresource: "",
    namespace,
    name,
  });
  if (decision === "allow") return undefined;
  return `audience ${goQuoted(audience)} not found in pod spec volume, ${user.username} is not authorized to request tokens for this audience`;
}
