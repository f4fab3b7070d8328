import type { Event } from "./event-schema.ts";
import { controllerQueue } from "../../../machinery/loops/controller.ts";
import type { Controller } from "../../../machinery/loops/controller.ts";
import { deleteWithUid } from "../../../machinery/loops/delete-with-uid.ts";
import { objectKey } from "../../../machinery/loops/informer.ts";
import { DeletionDelays } from "../../../machinery/scheduling/deletion-delays.ts";
import { eventResource } from "../resources.ts";

const keptMilliseconds = 3_600_000;
/** The maximum time that counts between an event's creation and the last time that it claims to have been seen. */
const longestSeriesMilliseconds = 24 * keptMilliseconds;

/**
 * When to delete an event, in milliseconds since the epoch: one hour after it was last seen (upstream: `--event-ttl`). The time is bounded,
 * because the reporter wrote the event's times, and its clock may be years ahead.
 */
export function eventRemovalTime({ metadata, lastTimestamp, series }: Event): number {
  const created = Date.parse(metadata.creationTimestamp ?? "") || 0;
  const seen = [lastTimestamp, series?.lastObservedTime].map((moment) => Date.parse(moment ?? "") || 0);
  return Math.min(Math.max(created, ...seen), created + longestSeriesMilliseconds) + keptMilliseconds;
}

/**
 * Deletes expired events. An event that was created while the clock was ahead has expired when this process has seen it for an hour. It would
 * stay until the clock is there again.
 */
export const eventCleaner: Controller = {
  name: "eventcleaner",
  start(context) {
    const { client, clock, monotonic, informers, names } = context;
    const events = informers.of(eventResource(names));
    const delays = new DeletionDelays(monotonic);
    const queue = controllerQueue(context, {
      reconcile: async (key) => {
        const event = events.get(key);
        const isFromAhead = Date.parse(event?.metadata.creationTimestamp ?? "") > clock.now();
        if (!isFromAhead) delays.forget(key);
        if (event === undefined) return "nothing to do: the event is gone";
        const wait = isFromAhead ? delays.wait(key) : eventRemovalTime(event) - clock.now();
        if (wait > 0) {
          queue.addAfter(key, Math.min(wait, keptMilliseconds));
          return `waits: the event expires in ${Math.ceil(wait / 1000)} s`;
        }
        await deleteWithUid(client.resource(eventResource(names), event.metadata.namespace), event);
        delays.forget(key);
        return "removed the event: it has expired";
      },
    });
    // Updates need no handler: they may extend the time, and the reconciliation reads the event again when the time is over.
    events.addHandler({
      onAdd: (event: Event) => queue.add(objectKey(event)),
    });
    return { queue };
  },
};
