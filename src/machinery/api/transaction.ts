/** Another write of the transaction was refused, or never came. Nothing was written. */
export class TransactionRefused extends Error {
  override readonly name = "TransactionRefused";

  constructor() {
    super("another write of the same transaction was refused: nothing was written");
  }
}

/** The part of one request in a transaction. */
export interface TransactionMember {
  /**
   * Waits for the writes of the other members. Then one member's `commit` is called with all writes, in the order of the members. Resolves
   * with this member's part of the result. Rejects with TransactionRefused when there is no commit, and when this is not the member's first
   * write.
   */
  join<Outcome>(write: object, commit: (writes: readonly object[]) => Promise<readonly Outcome[]>): Promise<Outcome>;
  /** The request has ended. Without a write of its own, nothing of the transaction is written. */
  end(): void;
}

interface Joined {
  readonly write: object;
  readonly resolve: (outcome: never) => void;
  readonly reject: (error: unknown) => void;
}

/** Makes one transaction of the writes of several requests. Each request is authenticated, authorized and admitted by itself. */
export function startTransaction(size: number): TransactionMember[] {
  const members: (Joined | undefined)[] = Array.from({ length: size });
  let isOver = false;

  const refuse = (): void => {
    isOver = true;
    for (const member of members) member?.reject(new TransactionRefused());
  };

  return members.map((_, index) => ({
    join: (write, commit) =>
      new Promise((resolve, reject) => {
        if (isOver || members[index] !== undefined) return reject(new TransactionRefused());
        members[index] = { write, resolve, reject };
        const joined = members.filter((member) => member !== undefined);
        if (joined.length < size) return;
        isOver = true;
        commit(joined.map((member) => member.write)).then(
          (outcomes) => joined.forEach((member, at) => member.resolve(outcomes[at] as never)), // the outcome of this member's own write
          (error: unknown) => joined.forEach((member) => member.reject(error)),
        );
      }),
    end: () => {
      if (!isOver && members[index] === undefined) refuse();
    },
  }));
}
