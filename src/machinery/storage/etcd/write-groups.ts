import { WriteAbandoned } from "../store.ts";
import type { SwapMessage } from "./etcd-messages.ts";

/** A write that waits for its turn. */
export interface GroupedWrite {
  readonly swap: SwapMessage;
  readonly signal: AbortSignal | undefined;
}

export interface WriteGroupsOptions<Answer> {
  /** How many writes one transaction has at most. */
  readonly maximumWrites: number;
  /** Sends swaps of different keys in one transaction, each of which happens or not by itself. Resolves with the answer to each. */
  send(swaps: readonly SwapMessage[]): Promise<readonly Answer[]>;
}

/** Less than a third of the longest request that etcd takes by default. A longer value goes by itself. */
const MAXIMUM_GROUP_BYTES = 512 * 1024;

interface Waiting<Answer> extends GroupedWrite {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Sends the writes that begin in one turn of the event loop together. A transaction costs etcd and each of its watches about as much
 * as the writes in it. Those whom one answer reaches write again at the same time, so under load groups stay together.
 */
export class WriteGroups<Answer> {
  readonly #options: WriteGroupsOptions<Answer>;
  #waiting: Waiting<Answer>[] = [];

  constructor(options: WriteGroupsOptions<Answer>) {
    this.#options = options;
  }

  /** Rejects with what `send` rejects with, and with WriteAbandoned. */
  write(write: GroupedWrite): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#sendAll());
      this.#waiting.push({ ...write, resolve, reject });
    });
  }

  #sendAll(): void {
    let group: Waiting<Answer>[] = [];
    const keys = new Set<string>();
    let bytes = 0;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const write of waiting) {
      const { swap, signal, reject } = write;
      if (signal?.aborted === true) {
        reject(new WriteAbandoned());
        continue;
      }
      const length = swap.key.length + (swap.value?.length ?? 0);
      const isFull = group.length === this.#options.maximumWrites || bytes + length > MAXIMUM_GROUP_BYTES;
      if (group.length > 0 && (isFull || keys.has(swap.key))) {
        void this.#send(group);
        group = [];
        keys.clear();
        bytes = 0;
      }
      group.push(write);
      keys.add(swap.key);
      bytes += length;
    }
    if (group.length > 0) void this.#send(group);
  }

  async #send(group: readonly Waiting<Answer>[]): Promise<void> {
    try {
      const answers = await this.#options.send(group.map(({ swap }) => swap));
      for (const [index, { resolve, reject }] of group.entries()) {
        const answer = answers[index];
        if (answer === undefined) reject(new Error("etcd answered fewer writes than it was sent"));
        else resolve(answer);
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}
