import type { Event } from "../resources/event-schema.ts";
import { controllerQueue, ignoring } from "./controller.ts";
import type { Controller } from "./controller.ts";

const keptMilliseconds = 3_600_000;
/** How long after its creation an event may claim to have been seen. */
const longestSeriesMilliseconds = 24 * keptMilliseconds;

/** When an event was last written, as far as it tells, in milliseconds since the epoch. */
function lastWritten({ metadata, lastTimestamp, series }: Event): number {
  const moments = [metadata.creationTimestamp, lastTimestamp, series?.lastObservedTime];
  return Math.max(...moments.map((moment) => Date.parse(moment ?? "") || 0));
}

/** Removes events an hour after they were last seen (upstream: `--event-ttl`): nobody else does. */
export const eventCleaner: Controller = {
  name: "event-cleaner",
  start(context) {
    const { client, clock, informers, references } = context;
    const events = informers.of(references.events);
    const queue = controllerQueue(this.name, context, async (key) => {
      const event = events.get(key);
      if (event === undefined) return;
      const { namespace = "", name = "", uid = "", creationTimestamp = "" } = event.metadata;
      // The times are the reporter's words, and its clock may be years ahead.
      const latest = (Date.parse(creationTimestamp) || 0) + longestSeriesMilliseconds;
      const wait = Math.min(lastWritten(event), latest) + keptMilliseconds - clock.now();
      if (wait > 0) return queue.addAfter(key, Math.min(wait, keptMilliseconds));
      await ignoring([404, 409], client.resource(references.events, namespace).delete(name, { uid }));
    });
    const add = ({ metadata }: Event): void => queue.add(`${metadata.namespace ?? ""}/${metadata.name ?? ""}`);
    events.addHandler({ onAdd: add });
    return { queue };
  },
};
