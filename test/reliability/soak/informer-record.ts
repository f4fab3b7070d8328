import type { ApiList, ApiObject } from "../../../src/machinery/api/object-meta.ts";
import { ResourceClient } from "../../../src/machinery/client/api-client.ts";
import type { ResourceType } from "../../../src/machinery/api/resource-type.ts";
import type { ApiClient, ListOptions, WatchOptions } from "../../../src/machinery/client/api-client.ts";
import { Informer } from "../../../src/machinery/loops/informer.ts";
import type { WatchEvent } from "../../../src/machinery/client/watch-events.ts";
import type { SeenEvent } from "../watch-follower.ts";

const nameOf = ({ metadata }: ApiObject): string => metadata.name ?? "";
const revisionOf = ({ metadata }: ApiObject | ApiList): number => Number(metadata.resourceVersion);

/** The time from one list to the next. In it, every change after the list must arrive, once and in order. */
interface Stretch {
  readonly listRevision: number;
  readonly events: SeenEvent[];
}

/** A resource that notes what an informer is given. */
class RecordedResource extends ResourceClient<ApiObject> {
  readonly stretches: Stretch[] = [];
  watches = 0;

  override async listPage(options: ListOptions & { readonly limit: number }): Promise<ApiList> {
    const list = await super.listPage(options);
    this.stretches.push({ listRevision: revisionOf(list), events: [] });
    return list;
  }

  override async *watch(options: WatchOptions, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    this.watches += 1;
    for await (const event of super.watch(options, signal)) {
      const { type, object } = event;
      if (type !== "BOOKMARK") {
        this.stretches.at(-1)?.events.push({ type, name: nameOf(object), revision: revisionOf(object) });
      }
      yield event;
    }
  }
}

/** An informer, with everything that it received and everything that it passed to its handlers. */
export class InformerRecord {
  readonly informer: Informer<ApiObject>;
  /** Impossible calls of handlers: an object is added twice, goes back to an older version, or is deleted but never existed. */
  readonly violations: string[] = [];
  readonly #resource: RecordedResource;
  /** The state that a listener can derive from the handlers. */
  readonly #known = new Map<string, number>();

  constructor(client: ApiClient, { reference, namespace }: { reference: ResourceType; namespace: string }) {
    this.#resource = new RecordedResource(client, { type: reference, namespace });
    this.informer = new Informer(this.#resource, { backoff: { firstMilliseconds: 20, longestMilliseconds: 20 } });
    this.informer.addHandler({
      onAdd: (object) => this.#learn(object, { isNew: true }),
      onUpdate: (object) => this.#learn(object, { isNew: false }),
      onDelete: (object) => {
        if (!this.#known.delete(nameOf(object))) this.violations.push(`${nameOf(object)} was deleted and never there`);
      },
    });
  }

  get lists(): number {
    return this.#resource.stretches.length;
  }

  get watches(): number {
    return this.#resource.watches;
  }

  get events(): SeenEvent[] {
    return this.#resource.stretches.flatMap(({ events }) => events);
  }

  /** The events that it missed, received twice or received out of order, compared with all delivered events. */
  eventFaults(allEvents: readonly SeenEvent[]): string[] {
    return this.#resource.stretches.flatMap(({ listRevision, events }) => {
      const last = events.at(-1)?.revision ?? listRevision;
      const expected = allEvents.filter(({ revision }) => revision > listRevision && revision <= last);
      const at = events.findIndex((event, index) => text(event) !== text(expected[index]));
      if (at >= 0) return [`${text(events[at])} came in place of ${text(expected[at])}`];
      return expected.length > events.length ? [`${text(expected[events.length])} did not come`] : [];
    });
  }

  /** The differences of the informer's copy, or its handlers' view, from a new list. */
  copyFaults(items: readonly ApiObject[]): string[] {
    const fresh = new Map(items.map((object) => [nameOf(object), revisionOf(object)]));
    const copy = new Map([...this.informer.list()].map((object) => [nameOf(object), revisionOf(object)]));
    return [...new Set([...fresh.keys(), ...copy.keys(), ...this.#known.keys()])]
      .filter((name) => fresh.get(name) !== copy.get(name) || fresh.get(name) !== this.#known.get(name))
      .map((name) => `${name}: list ${fresh.get(name)}, copy ${copy.get(name)}, handlers ${this.#known.get(name)}`);
  }

  #learn(object: ApiObject, { isNew }: { readonly isNew: boolean }): void {
    const name = nameOf(object);
    const before = this.#known.get(name);
    if ((before === undefined) !== isNew) this.violations.push(`${name} ${isNew ? "was added again" : "is unknown"}`);
    if (before !== undefined && before >= revisionOf(object)) {
      this.violations.push(`${name} went from ${before} to ${revisionOf(object)}`);
    }
    this.#known.set(name, revisionOf(object));
  }
}

const text = (event: SeenEvent | undefined): string =>
  event === undefined ? "nothing" : `${event.type} ${event.name} at ${event.revision}`;
