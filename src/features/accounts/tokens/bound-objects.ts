import type { TokenClaims, ObjectClaim } from "./token-claims.ts";
import type { FoundObject, TokenObjects } from "./token-objects.ts";

/**
 * The allowed difference between clocks, and how long a deleted object still counts (upstream: go-jose's default
 * leeway).
 */
export const leewaySeconds = 60;

const invalidated = "service account token has been invalidated";

/**
 * Why a token is void because of the objects that it is bound to, or undefined when it is not (upstream: `serviceaccount.validator`). Each
 * object must exist with the uid in the claim, and must not be in deletion for longer than the leeway. For a Pod's token, only the Pod is
 * checked, not its node. Runs on every use of a token.
 */
export function boundObjectFault(
  claims: TokenClaims,
  { objects, now }: { readonly objects: TokenObjects; readonly now: number },
): string | undefined {
  const { namespace, serviceAccount, secret, pod, node } = claims;
  const account = objects.findServiceAccount(namespace, serviceAccount.name);
  if (account === undefined) return `serviceaccounts ${JSON.stringify(serviceAccount.name)} not found`;
  if (account.uid !== serviceAccount.uid) {
    return `service account UID (${account.uid}) does not match claim (${serviceAccount.uid ?? ""})`;
  }
  if (isGone(account, now)) return `service account ${namespace}/${serviceAccount.name} has been deleted`;
  return (
    (secret && objectFault("secret", { claim: secret, found: objects.findSecret(namespace, secret.name), now })) ??
    (pod && objectFault("pod", { claim: pod, found: objects.findPod(namespace, pod.name), now })) ??
    (node && pod === undefined
      ? objectFault("node", { claim: node, found: objects.findNode(node.name), now })
      : undefined)
  );
}

function objectFault(
  kind: string,
  { claim, found, now }: { readonly claim: ObjectClaim; readonly found: FoundObject | undefined; readonly now: number },
): string | undefined {
  if (found === undefined) return invalidated;
  if (found.uid !== claim.uid) {
    return `${kind} UID (${found.uid}) does not match service account ${kind} ref claim (${claim.uid ?? ""})`;
  }
  return isGone(found, now) ? invalidated : undefined;
}

const isGone = ({ deletionTimestamp }: FoundObject, now: number): boolean =>
  deletionTimestamp !== undefined && Date.parse(deletionTimestamp) < now - leewaySeconds * 1000;
