import { parseRequestField } from "../../../pki/requests/certificate-request.ts";
import { orPkiError, PkiError } from "../../../pki/pki-error.ts";
import type { CertificateSigningRequest } from "./certificate-signing-request-schema.ts";
import { findWellKnownSigner } from "../signers/well-known-signers.ts";
import { withCondition } from "./certificate-request-state.ts";
import { requestStateQueue } from "./request-queue.ts";
import { postReview } from "../../../machinery/client/post-review.ts";
import type { Controller, ControllerContext } from "../../../machinery/loops/controller.ts";
import { certificateSigningRequestResource } from "../resources.ts";
import type { Names } from "../../../machinery/api/names.ts";

const approvalMessages: Readonly<Record<NodeClientSubresource, string>> = {
  selfnodeclient: "Auto approving self node agent client certificate after SubjectAccessReview.",
  nodeclient: "Auto approving node agent client certificate after SubjectAccessReview.",
};

const firstPauseMilliseconds = 200;
const longestPauseMilliseconds = 60_000;

/** The time until the permissions of a requester are checked again, in milliseconds: as long as the request has waited so far. */
function pauseBeforeRetry({ metadata }: CertificateSigningRequest, now: number): number {
  const waited = now - Date.parse(metadata.creationTimestamp ?? "");
  return Math.min(longestPauseMilliseconds, Math.max(firstPauseMilliseconds, waited || 0));
}

interface CsrApprovingOptions {
  /** Whether an approval policy decides on a request. */
  readonly isLeftToPolicy: (request: CertificateSigningRequest) => boolean;
}

/**
 * Approves node client certificates when the requester may `create` certificatesigningrequests/selfnodeclient (its own renewal) or
 * /nodeclient (a bootstrapping machine), according to an access review for the stored user, groups and extra. Without the permission it
 * checks again later, because an administrator may grant the permission meanwhile (upstream: an ignorable error).
 */
export const csrApproving = ({ isLeftToPolicy }: CsrApprovingOptions): Controller => ({
  name: "csrapproving",
  start(context) {
    const { client, clock, names } = context;
    const queue = requestStateQueue(context, {
      state: "pending",
      // Other signers' requests are not even parsed.
      isConcerned: ({ spec }) => findWellKnownSigner(names, spec.signerName)?.isApprovedAutomatically === true,
      reconcile: async (request) => {
        if (isLeftToPolicy(request)) return "nothing to do: the approval policy decides on the request";
        const subresources = nodeClientSubresources(names, request.spec);
        if (subresources.length === 0) return "waits for a person: it is not a node's request for its own certificate";
        for (const subresource of subresources) {
          if (!(await mayCreate(request, { subresource, client, names }))) continue;
          const condition = {
            type: "Approved",
            reason: "AutoApproved",
            message: approvalMessages[subresource],
          } as const;
          const approved = withCondition(request, { ...condition, now: clock.now() });
          await client.resource(certificateSigningRequestResource(names)).update(approved, { subresource: "approval" });
          return `approved: the requester may create certificatesigningrequests/${subresource}`;
        }
        queue.addAfter(request.metadata.name ?? "", pauseBeforeRetry(request, clock.now()));
        return `waits for a person or a permission: the requester may not create certificatesigningrequests/${subresources.join(" or /")}`;
      },
    });
    return { queue };
  },
});

interface CreateReview extends Pick<ControllerContext, "client" | "names"> {
  readonly subresource: NodeClientSubresource;
}

async function mayCreate(
  { spec }: CertificateSigningRequest,
  { subresource, client, names }: CreateReview,
): Promise<boolean> {
  const review = await postReview<{ readonly status?: { readonly allowed?: boolean } }>(client, {
    group: names.group("authorization"),
    kind: "SubjectAccessReview",
    spec: {
      user: spec.username,
      uid: spec.uid,
      groups: spec.groups,
      extra: spec.extra,
      resourceAttributes: {
        group: names.group("certificates"),
        version: "*",
        resource: "certificatesigningrequests",
        verb: "create",
        subresource,
      },
    },
  });
  return review.status?.allowed === true;
}

/**
 * The subresources of certificatesigningrequests. The permission to `create` one allows automatic approval of a node's
 * request.
 */
type NodeClientSubresource = "selfnodeclient" | "nodeclient";

/**
 * Returns the subresources that may allow a request, in the order to check them: a node's own renewal, then any node's
 * certificate. Empty for a request that is not for a node client certificate (upstream: csrapproving's recognizers).
 */
export function nodeClientSubresources(
  names: Names,
  { signerName, username, usages = [], request }: CertificateSigningRequest["spec"],
): NodeClientSubresource[] {
  const signer = findWellKnownSigner(names, signerName);
  if (signer?.isApprovedAutomatically !== true) return [];
  const parsed = orPkiError(() => parseRequestField(request ?? ""));
  if (parsed instanceof PkiError || signer.faults(parsed, usages).length > 0) return [];
  return username === parsed.subject.commonName ? ["selfnodeclient", "nodeclient"] : ["nodeclient"];
}
