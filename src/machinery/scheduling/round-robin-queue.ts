/** A queue for each user. Users take turns: whoever queues many items delays only their own. */
export class RoundRobinQueue<T> {
  /** The queues by user name, in the order of the users' turns. No queue is empty. */
  readonly #queues = new Map<string, T[]>();

  /** How many items of a user wait. */
  lengthOf(username: string): number {
    return this.#queues.get(username)?.length ?? 0;
  }

  add(username: string, item: T): void {
    const queue = this.#queues.get(username);
    if (queue === undefined) this.#queues.set(username, [item]);
    else queue.push(item);
  }

  /**
   * Removes and returns the next item; its user then goes to the end of the round. Users for whom `mayTake` is false are
   * passed over. Undefined: nothing may be taken.
   */
  take(
    mayTake: (username: string) => boolean = () => true,
  ): { readonly username: string; readonly item: T } | undefined {
    for (const [username, queue] of this.#queues) {
      if (!mayTake(username)) continue;
      const item = queue.shift() as T; // no queue is empty
      this.#queues.delete(username);
      if (queue.length > 0) this.#queues.set(username, queue);
      return { username, item };
    }
    return undefined;
  }
}
