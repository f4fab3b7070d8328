import { answerAt } from "../answer-at.ts";
import { WriteAbandoned } from "../store.ts";
import type { SwapMessage } from "./etcd-messages.ts";
import { groupedRevisions } from "./revision-form.ts";

/** A write that waits for its turn. */
export interface GroupedWrite {
  readonly swap: SwapMessage;
  readonly signal: AbortSignal | undefined;
}

/** Sends swaps of different keys in one transaction. Each is made or refused independently of the others. Resolves with their answers. */
type SendGroup<Answer> = (swaps: readonly SwapMessage[]) => Promise<readonly Answer[]>;

const maximumWrites = groupedRevisions.step;
/** A write with a longer value is sent alone, because it would delay the short ones. */
const maximumBytes = 64 * 1024;

interface Waiting<Answer> extends GroupedWrite {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Sends the writes that begin in one turn of the event loop together, because most of the cost of a write, for etcd, its watches and the
 * replicas, is the cost of its transaction. Callers that one answer reaches write again at the same time, so groups persist under load.
 */
export class WriteGroups<Answer> {
  readonly #sendTogether: SendGroup<Answer>;
  #waiting: Waiting<Answer>[] = [];

  constructor(sendTogether: SendGroup<Answer>) {
    this.#sendTogether = sendTogether;
  }

  /** Rejects with what `sendTogether` rejects with, and with WriteAbandoned. */
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
      const isFull = group.length === maximumWrites || bytes + length > maximumBytes;
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
      const answers = await this.#sendTogether(group.map(({ swap }) => swap));
      for (const [index, { resolve }] of group.entries()) resolve(answerAt(answers, index));
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}
