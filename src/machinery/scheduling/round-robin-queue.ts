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

/** A list of links: an array, or a Map that is read from its beginning, would be moved or searched through for each item that is taken. */
class Row<T> {
  first: Link<T> | undefined;
  #last: Link<T> | undefined;

  add(link: Link<T>): void {
    if (this.#last === undefined) this.first = link;
    else this.#last.next = link;
    this.#last = link;
  }

  /** Removes the link behind another one. Undefined: the first one. */
  removeAfter(previous: Link<T> | undefined): void {
    const removed = previous === undefined ? this.first : previous.next;
    if (previous === undefined) this.first = removed?.next;
    else previous.next = removed?.next;
    if (removed === this.#last) this.#last = previous;
    if (removed !== undefined) removed.next = undefined;
  }
}

/** Items, which come first, and the turns of those below by name, none of which is empty. */
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
