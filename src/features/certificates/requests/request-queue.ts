import { controllerQueue } from "../../../machinery/loops/controller.ts";
import type { ControllerContext } from "../../../machinery/loops/controller.ts";
import type { WorkQueue, WorkQueueOptions } from "../../../machinery/loops/work-queue.ts";
import { certificateSigningRequestResource } from "../resources.ts";
import { certificateRequestState } from "./certificate-request-state.ts";
import type { CertificateRequestState } from "./certificate-request-state.ts";
import type { CertificateSigningRequest } from "./certificate-signing-request-schema.ts";

/**
 * How many requests the loops that approve and sign work on at a time, because somebody waits for the certificate. Each waits for a disk
 * write, and concurrent ones share it.
 */
export const awaitedConcurrency = 64;

interface RequestQueueOptions extends Pick<WorkQueueOptions, "concurrency"> {
  /** The controller's name. */
  readonly name: string;
  /** The state of the requests that the loop is for. Absent: any. */
  readonly state?: CertificateRequestState;
  /** See `controllerQueue`. */
  readonly reconcile: (request: CertificateSigningRequest) => Promise<string>;
}

/** The queue of a loop over certificate requests, whose keys are their names. There is nothing to do for a request that is gone. */
export function requestQueue(
  context: ControllerContext,
  { state: wanted, reconcile, ...options }: RequestQueueOptions,
): WorkQueue {
  const requests = context.informers.of(certificateSigningRequestResource(context.names));
  return controllerQueue(context, {
    ...options,
    reconcile: async (name) => {
      const request = requests.get(name);
      if (request === undefined) return "nothing to do: the request is gone";
      const state = certificateRequestState(request);
      if (wanted !== undefined && state !== wanted) return `nothing to do: the request is ${state}`;
      return await reconcile(request);
    },
  });
}
