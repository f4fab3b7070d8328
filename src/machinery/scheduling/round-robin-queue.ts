import type { SharePath } from "./share-path.ts";

/**
 * A queue of items for each user. The levels of users take turns, and so do the users of a level. The service accounts of one namespace
 * count as one user, and take turns among themselves. So a user who queues many items delays only these.
 */
export class RoundRobinQueue<T> {
  readonly #turns = new Turns<T>();

  add(path: SharePath, item: T): void {
    this.#turns.add(path, item);
  }

  /**
   * Removes and returns the next item. Its user, the user's namespace and the user's level then go to the end of their rounds. A path for
   * which `mayTake` is false is passed over, with all paths below it. Undefined: no item may be taken.
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

/**
 * A linked list. Taking the first item of an array moves all others, and the first one of a Map is searched for behind those that were
 * deleted.
 */
class Row<T> {
  first: Link<T> | undefined;
  #last: Link<T> | undefined;

  add(link: Link<T>): void {
    if (this.#last === undefined) this.first = link;
    else this.#last.next = link;
    this.#last = link;
  }

  /** Removes the link that follows `previous`; without `previous`, the first one. */
  removeAfter(previous: Link<T> | undefined): void {
    const removed = previous === undefined ? this.first : previous.next;
    if (previous === undefined) this.first = removed?.next;
    else previous.next = removed?.next;
    if (removed === this.#last) this.#last = previous;
    if (removed !== undefined) removed.next = undefined;
  }
}

/** The items of one path, which come first, and the turns of the paths below it, by name. None of these is empty. */
class Turns<T> {
  readonly #items = new Row<T>();
  readonly #below = new Map<string, Turns<T>>();
  readonly #order = new Row<{ readonly name: string; readonly turns: Turns<T> }>();

  get #isEmpty(): boolean {
    return this.#items.first === undefined && this.#order.first === undefined;
  }

  add([name, ...rest]: readonly string[], item: T): void {
    if (name === undefined) return this.#items.add({ item, next: undefined });
    let turns = this.#below.get(name);
    if (turns === undefined) {
      turns = new Turns<T>();
      this.#below.set(name, turns);
      this.#order.add({ item: { name, turns }, next: undefined });
    }
    turns.add(rest, item);
  }

  take(mayTake: (path: readonly string[]) => boolean, path: readonly string[]): { readonly item: T } | undefined {
    const { first } = this.#items;
    if (first !== undefined) {
      this.#items.removeAfter(undefined);
      return first;
    }
    let previous: Link<{ readonly name: string; readonly turns: Turns<T> }> | undefined;
    for (let link = this.#order.first; link !== undefined; previous = link, link = link.next) {
      const { name, turns } = link.item;
      const next = [...path, name];
      const taken = mayTake(next) ? turns.take(mayTake, next) : undefined;
      if (taken === undefined) continue;
      this.#order.removeAfter(previous);
      if (turns.#isEmpty) this.#below.delete(name);
      else this.#order.add(link);
      return taken;
    }
    return undefined;
  }
}
