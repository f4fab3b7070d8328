import type { SharePath } from "./share-path.ts";

/**
 * A queue for each user. Levels of users take turns, in each the users do, and the service accounts of one namespace are one of them
 * and take turns among themselves: whoever queues many items delays only their own.
 */
export class RoundRobinQueue<T> {
  readonly #turns = new Turns<T>();

  add(path: SharePath, item: T): void {
    this.#turns.add(path, item);
  }

  /**
   * Removes and returns the next item; its user then goes to the end of the round, and so do those that the user is one of. Those
   * for whom `mayTake` is false are passed over, with all below them. Undefined: nothing may be taken.
   */
  take(mayTake: (path: SharePath) => boolean = () => true): { readonly item: T } | undefined {
    // Only paths were added.
    return this.#turns.take((path) => mayTake(path as unknown as SharePath), []);
  }
}

interface Link<T> {
  readonly item: T;
  next: Link<T> | undefined;
}

/** Either items, or the turns of those below by name. The latter are never empty. */
class Turns<T> {
  /** A list of links: an array of a hundred thousand would be moved for each item that is taken. */
  #first: Link<T> | undefined;
  #last: Link<T> | undefined;
  readonly #below = new Map<string, Turns<T>>();

  get #isEmpty(): boolean {
    return this.#first === undefined && this.#below.size === 0;
  }

  add([name, ...rest]: readonly string[], item: T): void {
    if (name === undefined) {
      const link: Link<T> = { item, next: undefined };
      if (this.#last === undefined) this.#first = link;
      else this.#last.next = link;
      this.#last = link;
      return;
    }
    const known = this.#below.get(name);
    const turns = known ?? new Turns<T>();
    if (known === undefined) this.#below.set(name, turns);
    turns.add(rest, item);
  }

  take(mayTake: (path: readonly string[]) => boolean, path: readonly string[]): { readonly item: T } | undefined {
    const first = this.#first;
    if (first !== undefined) {
      this.#first = first.next;
      if (first.next === undefined) this.#last = undefined;
      return first;
    }
    for (const [name, turns] of this.#below) {
      const next = [...path, name];
      const taken = mayTake(next) ? turns.take(mayTake, next) : undefined;
      if (taken === undefined) continue;
      this.#below.delete(name);
      if (!turns.#isEmpty) this.#below.set(name, turns);
      return taken;
    }
    return undefined;
  }
}
