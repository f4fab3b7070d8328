import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { RevisionCompacted } from "../../../src/machinery/storage/store.ts";
import type { RangeRequest, RangeResult, WatchRequest } from "../../../src/machinery/storage/store.ts";

/** A store that can drop changes that its watches have not seen yet. */
export class ForgetfulStore extends MemoryStore {
  readonly #requests: { readonly request: WatchRequest; readonly stop: () => void }[] = [];

  override watch(request: WatchRequest): { stop(): void } {
    const { stop } = super.watch(request);
    this.#requests.push({ request, stop });
    return { stop };
  }

  /** The keys of values that it cannot decrypt now. */
  readonly unreadable = new Set<string>();

  override async range(request: RangeRequest): Promise<RangeResult> {
    const found = await super.range(request);
    const entries = found.entries.map((entry) =>
      this.unreadable.has(entry.key) ? { ...entry, value: Buffer.alloc(0), unreadable: "no key" } : entry,
    );
    return { ...found, entries };
  }

  /** The texts that it can still read again, by their revisions. */
  readonly kept = new Map<number, Buffer>();
  /** How many texts were read again. */
  reads = 0;

  textAt(revision: number): Buffer | undefined {
    this.reads += 1;
    return this.kept.get(revision);
  }

  async forget(meanwhile: () => Promise<void>): Promise<void> {
    const ended = this.#requests.splice(0);
    for (const { stop } of ended) stop();
    await meanwhile();
    for (const { request } of ended) request.onEnd(new RevisionCompacted(1));
  }
}
