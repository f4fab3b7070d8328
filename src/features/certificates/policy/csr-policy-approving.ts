import { nodeNameOf } from "../../../machinery/api/user-info.ts";
import { parseRequestField } from "../../../pki/requests/certificate-request.ts";
import { orPkiError, PkiError } from "../../../pki/pki-error.ts";
import type { CertificateSigningRequest } from "../requests/certificate-signing-request-schema.ts";
import { nodeResource } from "../../nodes/index.ts";
import type { Node } from "../../nodes/index.ts";
import type { ApprovalInput, ApprovalPolicy, RequestIdentity } from "./approval-policy.ts";
import { approvalCondition, decideApproval, isDecidedByPolicy } from "./decide-approval.ts";
import type { ApprovalDecision } from "./decide-approval.ts";
import type { SignerLifetime } from "../signers/configured-signer.ts";
import { lifetimeSeconds } from "../signers/issue.ts";
import { namesOfNode } from "../signers/node-names.ts";
import type { NodeNames } from "../signers/node-names.ts";
import type { ServerNames } from "../signers/server-names.ts";
import { withCondition } from "../requests/certificate-request-state.ts";
import { requestStateQueue } from "../requests/request-queue.ts";
import type { Controller } from "../../../machinery/loops/controller.ts";
import { certificateSigningRequestResource } from "../resources.ts";

interface CsrPolicyApprovingOptions {
  /** Returns the current policy. */
  readonly policy: () => ApprovalPolicy;
  /** The API server's own names, for which no policy can approve a request. Throws while they are not known. */
  readonly serverNames: () => ServerNames;
  /** The lifetime of a signer's certificates. */
  readonly lifetimeOf: (signerName: string) => SignerLifetime;
}

/** How often a request that no rule matches is checked again: the policy may have changed. */
const intervalMilliseconds = 10_000;

/** Approves and denies requests according to the operator's rules. The condition names the rule, and the reason for a denial. */
export function csrPolicyApproving(options: CsrPolicyApprovingOptions): Controller {
  return {
    name: "csrpolicyapproving",
    start(context) {
      const { client, clock, informers, names } = context;
      const nodes = informers.of(nodeResource(names));

      const queue = requestStateQueue(context, {
        state: "pending",
        reconcile: async (request) => {
          const decision = await decide(request);
          if (decision.type === "undecided") {
            queue.addAfter(request.metadata.name ?? "", intervalMilliseconds);
            return "waits: no rule of the approval policy matches the request";
          }
          const decided = withCondition(request, { ...approvalCondition(decision), now: clock.now() });
          await client.resource(certificateSigningRequestResource(names)).update(decided, { subresource: "approval" });
          return `${decision.type} by the rule ${decision.rule} of the approval policy`;
        },
      });

      async function decide(request: CertificateSigningRequest): Promise<ApprovalDecision> {
        const policy = options.policy();
        if (!isDecidedByPolicy(identityOf(request), { policy, names })) return { type: "undecided" };
        const input = approvalInputOf(request, options.lifetimeOf(request.spec.signerName));
        if (input === undefined) return { type: "undecided" };
        const known = (name: string): NodeNames | undefined => namesOf(nodes.get(name));
        const context = { policy, names, serverNames: options.serverNames(), findNode: known };
        const decision = decideApproval(input, context);
        const nodeName = nodeNameOf(input.username);
        if (decision.type !== "denied" || nodeName === undefined) return decision;
        // The cache may not contain the node's newest addresses yet, and a denial is final: ask the server.
        const node = await client.resource(nodeResource(names)).find(nodeName);
        const findNode = (name: string): NodeNames | undefined => (name === nodeName ? namesOf(node) : known(name));
        return decideApproval(input, { ...context, findNode });
      }

      return { queue };
    },
  };
}

/** The attributes that a policy's rules match. */
export const identityOf = ({ spec }: CertificateSigningRequest): RequestIdentity => ({
  signerName: spec.signerName,
  username: spec.username ?? "",
  groups: spec.groups ?? [],
});

function approvalInputOf(request: CertificateSigningRequest, lifetime: SignerLifetime): ApprovalInput | undefined {
  const { request: base64, usages = [], expirationSeconds = lifetime.defaultSeconds } = request.spec;
  const parsed = orPkiError(() => parseRequestField(base64 ?? ""));
  if (parsed instanceof PkiError) return undefined;
  return {
    ...identityOf(request),
    usages,
    request: parsed,
    lifetimeSeconds: lifetimeSeconds(expirationSeconds, lifetime.maximumSeconds),
  };
}

const namesOf = (node: Node | undefined): NodeNames | undefined => (node === undefined ? undefined : namesOfNode(node));
