import { ownSignerName } from "../signer-names.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { nodeNameOf, serviceAccountsGroup, serviceAccountUsernamePrefix } from "../../../machinery/api/user-info.ts";
import { formatFaults } from "../../../machinery/api/validation/field-error.ts";
import { shortened } from "../../../machinery/api/text/format-value.ts";
import { requestsCaCertificate, countUnsupportedNames, requestedPowers } from "../requests/requested-extensions.ts";
import { alternativeNameFaults } from "../signers/alternative-name-requirements.ts";
import type { RequesterNode } from "../signers/alternative-name-requirements.ts";
import type {
  ApprovalInput,
  ApprovalPolicy,
  FailedRequirement,
  RequestIdentity,
  RequestRequirements,
} from "./approval-policy.ts";
import { matchesAny } from "./name-pattern.ts";
import type { NodeNames } from "../signers/node-names.ts";
import type { ServerNames } from "../signers/server-names.ts";
import { findWellKnownSigner } from "../signers/well-known-signers.ts";
import { subjectFaults } from "../signers/subject-requirements.ts";
import { powerfulUsages } from "../signers/usages.ts";

export type ApprovalDecision =
  | { readonly type: "undecided" }
  | { readonly type: "approved"; readonly rule: string }
  | { readonly type: "denied"; readonly rule: string; readonly failed: readonly FailedRequirement[] };

/** The facts on which a decision depends in addition to the request. */
export interface ApprovalContext {
  readonly policy: ApprovalPolicy;
  readonly names: Names;
  /** The API server's own names: no policy can approve a certificate for them. */
  readonly serverNames: ServerNames;
  /** Called only for rules with `namesBelongToNode`: for the requesting node, and for nodes with a requested name. */
  readonly findNode: (name: string) => NodeNames | undefined;
}

/** Decides on a request: the first rule that matches decides. Without a match the request stays undecided. */
export function decideApproval(
  input: ApprovalInput,
  { policy, names, serverNames, findNode }: ApprovalContext,
): ApprovalDecision {
  const rule = ruleAbout(input, { policy, names });
  if (rule === undefined) return { type: "undecided" };
  if (rule.action === "deny") return { type: "denied", rule: rule.name, failed: [] };
  const node = (): RequesterNode => {
    const name = nodeNameOf(input.username);
    return { name, names: name === undefined ? undefined : findNode(name) };
  };
  const { require } = rule;
  const failed = [
    ...subjectFaults(input, { require, names }),
    ...alternativeNameFaults(input, {
      require,
      node,
      isNode: (name) => findNode(name) !== undefined,
      serverNames,
    }),
    ...otherFaults(input, { require, names }),
  ];
  return failed.length === 0 ? { type: "approved", rule: rule.name } : { type: "denied", rule: rule.name, failed };
}

/** The type, reason and message of the condition for a decision. */
export function approvalCondition(decision: Exclude<ApprovalDecision, { readonly type: "undecided" }>): {
  readonly type: "Approved" | "Denied";
  readonly reason: string;
  readonly message: string;
} {
  const rule = JSON.stringify(decision.rule);
  if (decision.type === "approved") {
    return { type: "Approved", reason: "ApprovalPolicy", message: `Approved by rule ${rule} of the approval policy.` };
  }
  const faults = shortened(formatFaults(decision.failed));
  return {
    type: "Denied",
    reason: "ApprovalPolicy",
    message: `Denied by rule ${rule} of the approval policy${faults === "" ? "" : `: ${faults}`}.`,
  };
}

/** Whether a rule of the policy matches a request. Then only the policy decides on it. */
export const isDecidedByPolicy = (request: RequestIdentity, deciding: DecidingPolicy): boolean =>
  ruleAbout(request, deciding) !== undefined;

type DecidingPolicy = Pick<ApprovalContext, "policy" | "names">;

function ruleAbout({ signerName, username, groups }: RequestIdentity, { policy, names }: DecidingPolicy) {
  const own = ownSignerName(names, signerName);
  return policy.rules.find(
    ({ match }) =>
      match.signers.some((signer) => ownSignerName(names, signer) === own) &&
      (match.users === undefined || matchesAny(match.users, username)) &&
      (match.groups === undefined || groups.some((group) => matchesAny(match.groups ?? [], group))),
  );
}

/** The longest lifetime of a service account's client certificate: one hour, as the default for its tokens. */
const longestForAccountSeconds = 3600;

function otherFaults(
  input: ApprovalInput,
  { require, names }: { readonly require: RequestRequirements; readonly names: Names },
): FailedRequirement[] {
  const faults: FailedRequirement[] = [];
  // A custom signer may copy requested extensions that no rule checks.
  for (const usage of new Set([...input.usages, ...requestedPowers(input.request)])) {
    if (!(require.usages?.includes(usage) ?? !powerfulUsages.includes(usage))) {
      faults.push({ field: "usages", message: `${JSON.stringify(usage)} is not allowed` });
    }
  }
  if (requestsCaCertificate(input.request))
    faults.push({ field: "extensions", message: "a CA certificate is requested" });
  if (countUnsupportedNames(input.request) > 0) {
    faults.push({ field: "extensions", message: "only DNS names, IP addresses, email addresses and URIs are allowed" });
  }
  // A custom signer may read an ambiguous part in another way than these rules.
  faults.push(...input.request.ambiguities.map((message) => ({ field: "request" as const, message })));
  const { algorithm, sizeBits } = input.request.publicKey;
  if (!require.keys.some(({ type, minimumBits }) => type === algorithm && sizeBits >= minimumBits)) {
    faults.push({ field: "keys", message: `${algorithm} with ${sizeBits} bits is not allowed` });
  }
  const { lifetimeSeconds } = input;
  const field = "maximumLifetimeSeconds";
  if (lifetimeSeconds > require.maximumLifetimeSeconds) {
    const message = `${lifetimeSeconds} seconds are more than the maximum of ${require.maximumLifetimeSeconds}`;
    faults.push({ field, message });
  }
  // Deleting the account does not revoke its certificates.
  if (isOfAccount(input) && findWellKnownSigner(names, input.signerName)?.certifies === "user") {
    if (lifetimeSeconds > longestForAccountSeconds) {
      const message = `${lifetimeSeconds} seconds are more than the maximum of ${longestForAccountSeconds} for a service account`;
      faults.push({ field, message });
    }
  }
  return faults;
}

const isOfAccount = ({ username, groups }: RequestIdentity): boolean =>
  username.startsWith(serviceAccountUsernamePrefix) || groups.includes(serviceAccountsGroup);
