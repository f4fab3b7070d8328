import type { Names } from "../../../machinery/api/names.ts";
import { timestamp } from "../../../machinery/api/clock.ts";
import { ApiError } from "../../../machinery/api/api-error.ts";
import { controllerQueue } from "../../../machinery/loops/controller.ts";
import type { Controller } from "../../../machinery/loops/controller.ts";
import type { Event } from "../../core/index.ts";
import type { MissingSigner } from "../signers/missing-signer.ts";
import { certificateRequestState } from "./certificate-request-state.ts";
import type { CertificateSigningRequest } from "./certificate-signing-request-schema.ts";
import { certificateSigningRequestResource } from "../resources.ts";
import { eventResource } from "../../core/index.ts";

export interface UnsignedRequestReporterOptions {
  /** Why nothing here signs for a signer, as it is now; undefined when something does. */
  readonly missingSigner: (signerName: string) => MissingSigner | undefined;
}

/** How long a program elsewhere has to sign an approved request. */
const patienceMilliseconds = 60_000;

/** As long as the API takes an event's message. */
const maximumMessageBytes = 1024;

/**
 * Says of a request that nobody will sign why: with an Event on the request, and a line in the log, once. Where a program
 * elsewhere may be the signer, only when it has not signed a minute after the approval.
 */
export const unsignedRequestReporter = ({ missingSigner }: UnsignedRequestReporterOptions): Controller => ({
  name: "unsigned-request-reporter",
  start(context) {
    const { client, clock, informers, log, names } = context;
    const requests = informers.of(certificateSigningRequestResource(names));
    const events = client.resource(eventResource(names), "default");
    /** By uid; as many as there are requests. */
    const reported = new Set<string>();

    const queue = controllerQueue(this.name, context, async (name) => {
      const request = requests.get(name);
      if (request === undefined || !isWaiting(request)) return "nothing to do: the request is decided, signed or gone";
      const { uid = "" } = request.metadata;
      const missing = missingSigner(request.spec.signerName);
      if (missing === undefined) return "nothing to do: a signer runs here";
      if (reported.has(uid)) return "nothing to do: it was said before";
      if (missing.mayRunElsewhere) {
        const approved = approvalTime(request);
        if (approved === undefined) return "nothing to do: the request is not approved";
        const wait = approved + patienceMilliseconds - clock.now();
        if (wait > 0) {
          queue.addAfter(name, Math.min(wait, patienceMilliseconds));
          return "waits: a signer elsewhere may still sign";
        }
      }
      // The name is the request's alone: after a restart the event is there already, and nothing is said again.
      const isNew = await events.create(eventOf(request, { names, message: missing.message, now: clock.now() })).then(
        () => true,
        (error: unknown) => {
          if (error instanceof ApiError && error.reason === "AlreadyExists") return false;
          throw error;
        },
      );
      reported.add(uid);
      if (isNew) log.info({ request: name, signer: request.spec.signerName }, `nobody signs: ${missing.message}`);
      return `said that nobody signs: ${missing.message}`;
    });
    const add = (request: CertificateSigningRequest): void => {
      if (isWaiting(request)) queue.add(request.metadata.name ?? "");
    };
    requests.addHandler({
      onAdd: add,
      onUpdate: add,
      onDelete: ({ metadata }) => reported.delete(metadata.uid ?? ""),
    });
    return { queue };
  },
});

const isWaiting = (request: CertificateSigningRequest): boolean =>
  ["pending", "approved"].includes(certificateRequestState(request));

/** When a request was approved, in milliseconds since the epoch; undefined while it is not. */
function approvalTime({ status, metadata }: CertificateSigningRequest): number | undefined {
  const approval = status?.conditions?.find(({ type }) => type === "Approved");
  if (approval === undefined) return undefined;
  return Date.parse(approval.lastUpdateTime ?? metadata.creationTimestamp ?? "") || 0;
}

function eventOf(
  { metadata }: CertificateSigningRequest,
  { names, message, now }: { readonly names: Names; readonly message: string; readonly now: number },
): Event {
  const { name = "", uid = "", resourceVersion = "" } = metadata;
  const apiVersion = `${names.group("certificates")}/v1`;
  const time = timestamp(now);
  return {
    apiVersion: "v1",
    kind: "Event",
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
    eventTime: new Date(now).toISOString().replace("Z", "000Z"),
  };
}
