import { controllerQueue } from "../../../machinery/loops/controller.ts";
import type { ControllerContext } from "../../../machinery/loops/controller.ts";
import type { WorkQueue, WorkQueueOptions } from "../../../machinery/loops/work-queue.ts";
import { certificateSigningRequestResource } from "../resources.ts";
import { certificateRequestState } from "./certificate-request-state.ts";
import type { CertificateRequestState } from "./certificate-request-state.ts";
import type { CertificateSigningRequest } from "./certificate-signing-request-schema.ts";

interface RequestQueueOptions extends Pick<WorkQueueOptions, "concurrency"> {
  /** See `controllerQueue`. */
  readonly reconcile: (request: CertificateSigningRequest) => Promise<string>;
}

/** The queue of a loop over certificate requests, whose keys are the requests' names. Deleted requests are skipped. */
export function requestQueue(context: ControllerContext, { reconcile, ...options }: RequestQueueOptions): WorkQueue {
  const requests = context.informers.of(certificateSigningRequestResource(context.names));
  return controllerQueue(context, {
    ...options,
    reconcile: async (name) => {
      const request = requests.get(name);
      return request === undefined ? "nothing to do: the request is gone" : await reconcile(request);
    },
  });
}

/**
 * The number of requests that the loops for approval and signing process at the same time. Somebody waits for these certificates. Each
 * request waits for a disk write, and concurrent requests share it.
 */
export const awaitedConcurrency = 64;

interface StateQueueOptions extends Omit<RequestQueueOptions, "concurrency"> {
  /** The state of the requests that the loop processes. */
  readonly state: CertificateRequestState;
  /** Which requests in this state are processed. Absent: all. */
  readonly isConcerned?: (request: CertificateSigningRequest) => boolean;
}

/** The queue of a loop that approves or signs the requests in one state. New and changed requests are added to it. */
export function requestStateQueue(
  context: ControllerContext,
  { state, isConcerned = () => true, reconcile }: StateQueueOptions,
): WorkQueue {
  const queue = requestQueue(context, {
    concurrency: awaitedConcurrency,
    reconcile: async (request) => {
      const found = certificateRequestState(request);
      return found === state ? await reconcile(request) : `nothing to do: the request is ${found}`;
    },
  });
  const add = (request: CertificateSigningRequest): void => {
    if (isConcerned(request) && certificateRequestState(request) === state) queue.add(request.metadata.name ?? "");
  };
  const requests = context.informers.of(certificateSigningRequestResource(context.names));
  requests.addHandler({ onAdd: add, onUpdate: add });
  return queue;
}
