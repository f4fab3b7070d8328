/** What waits, in one queue for each user. The users take turns: one who has much to wait for waits only for it. */
export class UserRounds<T> {
  /** In the order of the users' turns. None is empty. */
  readonly #queues = new Map<string, T[]>();

  /** How much of a user waits. */
  lengthOf(username: string): number {
    return this.#queues.get(username)?.length ?? 0;
  }

  add(username: string, item: T): void {
    const queue = this.#queues.get(username);
    if (queue === undefined) this.#queues.set(username, [item]);
    else queue.push(item);
  }

  /** Takes the next out, and the user's turn comes again at the end of the round. `mayTake`: passes over other users. Default: none. */
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
