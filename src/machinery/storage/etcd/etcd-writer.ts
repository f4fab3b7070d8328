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
  /** `current` is undefined when the key does not exist, and for a create where etcd's API does not tell. */
  | { readonly isWritten: false; readonly current: KeyValue | undefined };

export interface EtcdWriterOptions {
  readonly form: RevisionForm;
  /** Writes happen only as long as this key has this revision. Absent: always; for plain revisions only. */
  readonly guard: GuardMessage | undefined;
  readonly call: MakeEtcdCall;
  /** Resolves when this process's watches have delivered everything up to the store's revision. */
  readonly untilDelivered: (revision: number) => Promise<void>;
}

/**
 * Writes to etcd. With grouped revisions, writes that begin together are one transaction, and a server whose keys were removed or
 * moved away writes nothing more.
 */
export class EtcdWriter {
  readonly #options: EtcdWriterOptions;
  readonly #groups = new WriteGroups<SwapOutcome>((swaps) => this.#sendGroup(swaps));
  /** This etcd takes shorter requests, or fewer operations in one, than a group needs. */
  #hasRefusedGroup = false;

  constructor(options: EtcdWriterOptions) {
    this.#options = options;
  }

  /** Rejects as `call` does, and with WriteAbandoned. */
  async swap(write: GroupedWrite): Promise<SwapOutcome> {
    const { guard } = this.#options;
    if (guard === undefined) return this.#sendPlain(write.swap);
    // A delete goes by itself: it has no value that could tell its place in a transaction.
    if (write.swap.value !== undefined && !this.#hasRefusedGroup) return this.#groups.write(write);
    return this.#sendOne(write.swap, guard);
  }

  /** Writes all or none, in one transaction. Of the outcomes, all are written or none is. Rejects as `call` does. */
  async swapTogether(swaps: readonly SwapMessage[]): Promise<readonly SwapOutcome[]> {
    const { guard, form } = this.#options;
    if (guard !== undefined && swaps.length > form.step)
      throw new Error(`a transaction has ${form.step} writes at most`);
    const marked = this.#marked(swaps);
    const answer: TransactionAnswer =
      guard === undefined
        ? await this.#send(encodeTransaction(marked), decodeTransaction)
        : ((await this.#send(encodeGuardedTransaction(marked, guard), decodeGuardedTransaction)) ?? guardLost(guard));
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
    return (await this.#send(encodeSwaps(this.#marked(swaps), guard), decodeSwaps)) ?? guardLost(guard);
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

/** The guard is not what it was: the server's keys were removed or moved away. Throws StoreUnavailable. */
export function guardLost({ key }: GuardMessage): never {
  throw new StoreUnavailable(
    `etcd's key ${key} was removed or changed: the server's objects are not there any more; restart the server`,
  );
}

/** An etcd that was restored from a snapshot has one, which is older: this is another fault, which may be over soon. */
export const withoutRevision =
  "etcd's answer can't be right: it has no revision; check what is between this server and etcd";
