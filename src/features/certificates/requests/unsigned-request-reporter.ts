import { kubernetesNames, platformNames, spellingsOf } from "../../../machinery/api/names.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { microTimestamp, timestamp } from "../../../machinery/api/clock.ts";
import type { NewObject } from "../../../machinery/client/api-client.ts";
import { ApiError } from "../../../machinery/api/api-error.ts";
import { isWithinDomain } from "../../../machinery/api/is-within-domain.ts";
import { signerDomain } from "../signer-names.ts";
import type { Controller } from "../../../machinery/loops/controller.ts";
import { eventResource } from "../../core/index.ts";
import type { Event } from "../../core/index.ts";
import { isUndecided } from "./certificate-request-state.ts";
import type { CertificateSigningRequest } from "./certificate-signing-request-schema.ts";
import { requestQueue } from "./request-queue.ts";
import { certificateSigningRequestResource } from "../resources.ts";
import type { RunningSigners } from "../signers/running-signers.ts";
import { findWellKnownSigner, wellKnownSigners } from "../signers/well-known-signers.ts";

interface UnsignedRequestReporterOptions {
  readonly signers: RunningSigners;
  /** Whether the controller `csrsigning` runs in this process. */
  readonly isSigning: boolean;
}

/** How long an external signer has to sign an approved request. */
const externalSignerMilliseconds = 60_000;

/** The API's limit for the message of an event. */
const maximumMessageBytes = 1024;

/**
 * Reports why a request will not be signed: once, with an Event on the request and a log line. When an external signer
 * may exist, it reports only if the request is not signed one minute after its approval.
 */
export const unsignedRequestReporter = (options: UnsignedRequestReporterOptions): Controller => ({
  name: "unsigned-request-reporter",
  start(context) {
    const { client, clock, informers, log, names } = context;
    const requests = informers.of(certificateSigningRequestResource(names));
    const events = client.resource(eventResource(names), "default");
    /** Uids of reported requests. Deleted requests are removed, so it cannot grow without limit. */
    const reported = new Set<string>();

    const queue = requestQueue(context, {
      reconcile: async (request) => {
        if (!isUndecided(request)) return "nothing to do: the request is decided or signed";
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
        // The event's name is unique for the request: after a restart it exists already, and nothing is reported again.
        const isNew = await events.create(eventOf(request, { names, message: missing.message, now: clock.now() })).then(
          () => true,
          (error: unknown) => {
            if (error instanceof ApiError && error.reason === "AlreadyExists") return false;
            throw error;
          },
        );
        reported.add(uid);
        if (isNew)
          log.info({ request: name, signer: request.spec.signerName }, `the request has no signer: ${missing.message}`);
        return `reported that the request has no signer: ${missing.message}`;
      },
    });
    const add = (request: CertificateSigningRequest): void => {
      if (!isUndecided(request)) return;
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

/** When a request was approved, in milliseconds since the epoch; undefined while it is not. */
function approvalTime({ status, metadata }: CertificateSigningRequest): number | undefined {
  const approval = status.conditions?.find(({ type }) => type === "Approved");
  if (approval === undefined) return undefined;
  return Date.parse(approval.lastUpdateTime ?? metadata.creationTimestamp ?? "") || 0;
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

/** Why no signer with a name runs in this process. */
interface MissingSigner {
  /** Whether an external signer may exist. It gets some time before the request is reported. */
  readonly mayRunElsewhere: boolean;
  /** What is wrong, and what to do next. */
  readonly message: string;
}

interface MissingSignerOptions extends UnsignedRequestReporterOptions {
  readonly names: Names;
}

/** Returns why no signer with this name runs here. Undefined when one does. */
export function missingSigner(
  signerName: string,
  { names, signers, isSigning }: MissingSignerOptions,
): MissingSigner | undefined {
  const runsHere = signers.find(signerName) !== undefined;
  if (runsHere && isSigning) return undefined;
  const quoted = JSON.stringify(signerName);
  if (runsHere) {
    const message = `the controller csrsigning is disabled: remove -csrsigning from --controllers, or run it in another process with signet controllers`;
    return { mayRunElsewhere: true, message };
  }
  const wellKnown = findWellKnownSigner(names, signerName);
  if (wellKnown !== undefined) {
    const flag = `--cluster-signing-${wellKnown.shortName}`;
    const message = `the signer ${quoted} has no CA here: set ${flag}-cert-file and ${flag}-key-file`;
    return { mayRunElsewhere: !isSigning, message };
  }
  if (signers.names().includes(signerName)) {
    const message = `the signer ${quoted} is disabled, because the API server trusts its CA for client certificates: set another CA for it in --signer-config`;
    return { mayRunElsewhere: false, message };
  }
  const ownDomains = spellingsOf(names, (one) => one.domain);
  if (ownDomains.some((own) => isWithinDomain(signerDomain(signerName), own))) {
    const known = wellKnownSigners.map((signer) => signer.nameIn(names)).join(", ");
    return { mayRunElsewhere: false, message: `there is no signer ${quoted}: create a request for one of ${known}` };
  }
  const others = names.profile === platformNames.profile ? kubernetesNames : platformNames;
  const meant = findWellKnownSigner(others, signerName);
  if (meant !== undefined) {
    const message = `this server uses the naming profile ${names.profile}: create a request for ${meant.nameIn(names)}`;
    return { mayRunElsewhere: false, message };
  }
  const message = `no signer ${quoted} runs here, and no external signer has signed: start the external signer, or add the signer to --signer-config`;
  return { mayRunElsewhere: true, message };
}
