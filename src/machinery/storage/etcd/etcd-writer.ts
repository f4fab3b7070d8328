import { answerAt } from "../answer-at.ts";
import { StoreUnavailable, TransactionsUnsupported, ValueTooLarge, WriteOutcomeUnknown } from "../store.ts";
import type { MakeEtcdCall } from "./etcd-client.ts";
import {
  decodeGuardedTransaction,
  decodeSwap,
  decodeSwaps,
  decodeTransaction,
  encodeGuardedTransaction,
  encodeSwap,
  encodeSwaps,
  encodeTransaction,
} from "./etcd-messages.ts";
import { etcdMethods } from "./etcd-methods.ts";
import type { GuardMessage, KeyValue, SwapAnswer, SwapMessage, TransactionAnswer } from "./etcd-messages.ts";
import type { RevisionForm } from "./revision-form.ts";
import { WriteGroups } from "./write-groups.ts";
import type { GroupedWrite } from "./write-groups.ts";

export type SwapOutcome =
  | { readonly isWritten: true; readonly revision: number }
  /** `current` is undefined when the key does not exist, and for a refused create whose answer does not include the entry. */
  | { readonly isWritten: false; readonly current: KeyValue | undefined };

export interface EtcdWriterOptions {
  readonly form: RevisionForm;
  /** The condition of every write. Undefined, only for plain revisions: no condition. */
  readonly guard: GuardMessage | undefined;
  readonly call: MakeEtcdCall;
  /** Resolves when this process's watches have delivered everything up to the store's revision. */
  readonly untilDelivered: (revision: number) => Promise<void>;
}

/**
 * Writes to etcd. With grouped revisions, writes that begin in one turn of the event loop are one transaction, and a server whose keys
 * were removed or moved away can't write any more.
 */
export class EtcdWriter {
  readonly #options: EtcdWriterOptions;
  readonly #groups = new WriteGroups<SwapOutcome>((swaps) => this.#sendGroup(swaps));
  /** Whether this etcd has refused a group: its limits for the bytes or the operations of a request are too low. */
  #hasRefusedGroup = false;

  constructor(options: EtcdWriterOptions) {
    this.#options = options;
  }

  /** Rejects as `call` does, and with WriteAbandoned. */
  async swap(write: GroupedWrite): Promise<SwapOutcome> {
    const { guard } = this.#options;
    if (guard === undefined) return this.#sendPlain(write.swap);
    // A delete is sent alone, because it has no value that could hold its place in a transaction.
    if (write.swap.value !== undefined && !this.#hasRefusedGroup) return this.#groups.write(write);
    return this.#sendOne(write.swap, guard);
  }

  /** Makes all writes in one transaction, or none of them. Rejects as `call` does. */
  async swapTogether(swaps: readonly SwapMessage[]): Promise<readonly SwapOutcome[]> {
    const { guard, form } = this.#options;
    if (guard !== undefined && swaps.length > form.step)
      throw new Error(`a transaction has ${form.step} writes at most`);
    const marked = this.#marked(swaps);
    const answer: TransactionAnswer =
      guard === undefined
        ? await this.#send(encodeTransaction(marked), decodeTransaction)
        : ((await this.#send(encodeGuardedTransaction(marked, guard), decodeGuardedTransaction)) ??
          throwGuardLost(guard));
    const { isWritten, revision, current } = answer;
    return this.#outcomes(swaps.map((_, index) => ({ isWritten, revision, current: current[index] })));
  }

  async #sendPlain(swap: SwapMessage): Promise<SwapOutcome> {
    const answer = await this.#send(encodeSwap(swap), decodeSwap);
    // kine reports success when it deletes a key that does not exist.
    const isDeleteOfNothing = swap.value === undefined && answer.current === undefined && answer.deletedCount === 0;
    return this.#onlyOutcome([{ ...answer, isWritten: answer.isWritten && !isDeleteOfNothing }]);
  }

  async #sendOne(swap: SwapMessage, guard: GuardMessage): Promise<SwapOutcome> {
    return this.#onlyOutcome(await this.#answersOf([swap], guard));
  }

  async #sendGroup(swaps: readonly SwapMessage[]): Promise<readonly SwapOutcome[]> {
    const { guard } = this.#options;
    if (guard === undefined) throw new Error("only grouped revisions have groups");
    try {
      return await this.#outcomes(await this.#answersOf(swaps, guard));
    } catch (error) {
      const isRefused = error instanceof ValueTooLarge || error instanceof TransactionsUnsupported;
      if (!isRefused || swaps.length === 1) throw error;
      this.#hasRefusedGroup = true;
      return await Promise.all(swaps.map((swap) => this.#sendOne(swap, guard)));
    }
  }

  async #answersOf(swaps: readonly SwapMessage[], guard: GuardMessage): Promise<readonly SwapAnswer[]> {
    return (await this.#send(encodeSwaps(this.#marked(swaps), guard), decodeSwaps)) ?? throwGuardLost(guard);
  }

  #send<Answer>(message: Buffer, decode: (answer: Buffer) => Answer): Promise<Answer> {
    return this.#options.call({ path: etcdMethods.transaction, message, isRepeatable: false, decode });
  }

  #marked(swaps: readonly SwapMessage[]): readonly SwapMessage[] {
    const { form } = this.#options;
    return swaps.map((swap, index) => ({
      ...swap,
      value: swap.value && form.stored(swap.value, swaps.length - 1 - index),
    }));
  }

  async #onlyOutcome(answers: readonly SwapAnswer[]): Promise<SwapOutcome> {
    return answerAt(await this.#outcomes(answers), 0);
  }

  /** The outcomes of all writes of a transaction, in their order. */
  async #outcomes(
    answers: readonly Pick<SwapAnswer, "isWritten" | "revision" | "current">[],
  ): Promise<readonly SwapOutcome[]> {
    const { form, untilDelivered } = this.#options;
    const outcomes = answers.map(({ isWritten, revision, current }, index): SwapOutcome => {
      if (!isWritten) return { isWritten, current };
      if (revision === 0) throw new WriteOutcomeUnknown(withoutRevision);
      return { isWritten, revision: form.storeRevision(revision, answers.length - 1 - index) };
    });
    const last = outcomes.findLast(({ isWritten }) => isWritten);
    if (last?.isWritten === true) await untilDelivered(last.revision);
    return outcomes;
  }
}

/** Throws StoreUnavailable: the guard has changed, because the server's keys were removed or moved away. */
export function throwGuardLost({ key }: GuardMessage): never {
  throw new StoreUnavailable(
    `etcd's key ${key} was removed or changed: the server's objects are not there any more; restart the server`,
  );
}

/** The message for an answer without a revision. This is not a restored etcd, whose answers have an older one. The fault may pass. */
export const withoutRevision =
  "etcd's answer can't be right: it has no revision; check what is between this server and etcd";
