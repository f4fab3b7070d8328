import { controllerQueue } from "../../machinery/loops/controller.ts";
import type { ControllerContext, StartedController } from "../../machinery/loops/controller.ts";

/** How often to check whether the server has other CAs. */
const pollMilliseconds = 5_000;
/** The queue key of this check: no object has an empty name. */
const authoritiesKey = "";

interface AuthorityQueueOptions {
  /** PEM of the CAs that verify the server now. */
  readonly caCertificates: () => string;
  /** The keys of all objects that hold the CAs. */
  readonly everyKey: () => Iterable<string>;
  /** See `controllerQueue`. */
  readonly reconcile: (key: string) => Promise<string>;
}

/** The queue of a loop that writes the server's CAs into objects. When the server gets other CAs, all these objects are queued. */
export function authorityQueue(
  context: ControllerContext,
  { caCertificates, everyKey, reconcile }: AuthorityQueueOptions,
): StartedController {
  let published = caCertificates();
  const queue = controllerQueue(context, {
    reconcile: async (key) => {
      if (key !== authoritiesKey) return await reconcile(key);
      queue.addAfter(authoritiesKey, pollMilliseconds);
      const current = caCertificates();
      if (current === published) return "nothing to do: the server has the same CAs";
      published = current;
      for (const one of everyKey()) queue.add(one);
      return "the server has other CAs: looks at every object that holds them";
    },
  });
  return { queue, onSynced: () => queue.add(authoritiesKey) };
}
