import type { Names } from "../../../machinery/api/names.ts";
import { microTimestamp, timestamp } from "../../../machinery/api/clock.ts";
import type { NewObject } from "../../../machinery/client/api-client.ts";
import { ignoreCodes } from "../../../machinery/client/ignore-codes.ts";
import type { Controller } from "../../../machinery/loops/controller.ts";
import { eventResource } from "../../core/index.ts";
import type { Event } from "../../core/index.ts";
import { conditionOf, isUnfinished } from "./certificate-request-state.ts";
import type { CertificateSigningRequest } from "./certificate-signing-request-schema.ts";
import { missingSigner } from "./missing-signer.ts";
import type { SigningHere } from "./missing-signer.ts";
import { requestQueue } from "./request-queue.ts";
import { certificateSigningRequestResource } from "../resources.ts";

/** How long an external signer has to sign an approved request. */
const externalSignerMilliseconds = 60_000;

/** The API's limit for the message of an event. */
const maximumMessageBytes = 1024;

/**
 * Reports why a request will not be signed: once, with an Event on the request and a log line. When an external signer
 * may exist, it reports only if the request is not signed one minute after its approval.
 */
export const unsignedRequestReporter = (options: SigningHere): Controller => ({
  name: "unsigned-request-reporter",
  start(context) {
    const { client, clock, informers, log, names } = context;
    const requests = informers.of(certificateSigningRequestResource(names));
    const events = client.resource(eventResource(names), "default");
    /** Uids of reported requests. Deleted requests are removed, so it cannot grow without limit. */
    const reported = new Set<string>();

    const queue = requestQueue(context, {
      reconcile: async (request) => {
        if (!isUnfinished(request)) return "nothing to do: the request is decided or signed";
        const { name = "", uid = "" } = request.metadata;
        const missing = missingSigner(request.spec.signerName, { names, ...options });
        if (missing === undefined) return "nothing to do: a signer runs here";
        if (reported.has(uid)) return "nothing to do: already reported";
        if (missing.mayRunElsewhere) {
          const approved = approvalTime(request);
          if (approved === undefined) return "nothing to do: the request is not approved";
          const wait = approved + externalSignerMilliseconds - clock.now();
          if (wait > 0) {
            queue.addAfter(name, Math.min(wait, externalSignerMilliseconds));
            return "waits: an external signer may still sign";
          }
        }
        // The event's name is unique for the request: after a restart the event already exists, and nothing is reported again.
        const event = eventOf(request, { names, message: missing.message, now: clock.now() });
        const made = await ignoreCodes([409], events.create(event));
        reported.add(uid);
        if (made !== undefined)
          log.info({ request: name, signer: request.spec.signerName }, `the request has no signer: ${missing.message}`);
        return `reported that the request has no signer: ${missing.message}`;
      },
    });
    const add = (request: CertificateSigningRequest): void => {
      if (!isUnfinished(request)) return;
      const missing = missingSigner(request.spec.signerName, { names, ...options });
      if (missing !== undefined) queue.add(request.metadata.name ?? "");
    };
    requests.addHandler({
      onAdd: add,
      onUpdate: add,
      onDelete: ({ metadata }) => reported.delete(metadata.uid ?? ""),
    });
    return { queue };
  },
});

/** When a request was approved, in milliseconds since the epoch. Undefined for a request without approval. */
function approvalTime(request: CertificateSigningRequest): number | undefined {
  const approval = conditionOf(request, "Approved");
  if (approval === undefined) return undefined;
  return Date.parse(approval.lastUpdateTime ?? request.metadata.creationTimestamp ?? "") || 0;
}

function eventOf(
  { metadata }: CertificateSigningRequest,
  { names, message, now }: { readonly names: Names; readonly message: string; readonly now: number },
): NewObject<Event> {
  const { name = "", uid = "", resourceVersion = "" } = metadata;
  const apiVersion = `${names.group("certificates")}/v1`;
  const time = timestamp(now);
  return {
    metadata: { name: `no-signer.${uid}`, namespace: "default" },
    involvedObject: { apiVersion, kind: "CertificateSigningRequest", name, uid, resourceVersion },
    reason: "NoSigner",
    message: message.slice(0, maximumMessageBytes),
    type: "Warning",
    action: "Sign",
    source: {},
    reportingComponent: `${names.group("signet")}/unsigned-request-reporter`,
    reportingInstance: "unsigned-request-reporter",
    firstTimestamp: time,
    lastTimestamp: time,
    eventTime: microTimestamp(now),
  };
}
