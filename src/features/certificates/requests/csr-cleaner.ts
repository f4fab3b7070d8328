import type { CertificateSigningRequest } from "./certificate-signing-request-schema.ts";
import { certificateRequestState } from "./certificate-request-state.ts";
import { readIssuedText } from "./issued-text.ts";
import { requestQueue } from "./request-queue.ts";
import type { Controller } from "../../../machinery/loops/controller.ts";
import { deleteWithUid } from "../../../machinery/loops/delete-with-uid.ts";
import { certificateSigningRequestResource } from "../resources.ts";

const hourMilliseconds = 3_600_000;

/** How long a request is kept after its last condition, or after its creation if it has no decision. */
const keptMilliseconds = {
  issued: hourMilliseconds,
  denied: hourMilliseconds,
  failed: hourMilliseconds,
  pending: 24 * hourMilliseconds,
  approved: 24 * hourMilliseconds,
} as const;

/**
 * When to remove a request, in milliseconds since the epoch. A request whose certificate has expired is removed at once (upstream: the
 * csrcleaner's periods).
 */
export function removalTime(request: CertificateSigningRequest): number {
  const state = certificateRequestState(request);
  const created = Date.parse(request.metadata.creationTimestamp ?? "") || 0;
  const decided = Math.max(
    created,
    ...(request.status.conditions ?? []).map(({ lastUpdateTime }) => Date.parse(lastUpdateTime ?? "") || 0),
  );
  const kept = (state === "pending" ? created : decided) + keptMilliseconds[state];
  return state === "issued" ? Math.min(kept, certificateEnd(request)) : kept;
}

/**
 * When the certificate of a request expires. Infinity for a custom signer's certificate that cannot be parsed here: its request is kept for
 * the usual period.
 */
function certificateEnd({ status }: CertificateSigningRequest): number {
  const text = readIssuedText(status.certificate ?? "");
  if (text.isRecorded) return text.notAfter;
  const { leaf } = text;
  return leaf === undefined || leaf === "unreadable" ? Infinity : leaf.notAfter;
}

/** Removes requests after their period. */
export const csrCleaner: Controller = {
  name: "csrcleaner",
  start(context) {
    const { client, clock, informers, names } = context;
    const requests = informers.of(certificateSigningRequestResource(names));
    /** The time until a request is checked again, in milliseconds: at most an hour. Not positive: it can be removed. */
    const waitFor = (request: CertificateSigningRequest): number =>
      Math.min(removalTime(request) - clock.now(), hourMilliseconds);
    const queue = requestQueue(context, {
      reconcile: async (request) => {
        const wait = waitFor(request);
        if (wait > 0) {
          queue.addAfter(request.metadata.name ?? "", wait);
          return "waits: the request's retention period has not passed";
        }
        await deleteWithUid(client.resource(certificateSigningRequestResource(names)), request);
        return "removed the request: its retention period has passed";
      },
    });
    // Nearly always the time is in the future, so that nothing is queued now.
    const add = (request: CertificateSigningRequest): void =>
      queue.addAfter(request.metadata.name ?? "", waitFor(request));
    requests.addHandler({ onAdd: add, onUpdate: add });
    return { queue };
  },
};
