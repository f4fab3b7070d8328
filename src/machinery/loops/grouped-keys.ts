/** Keys of objects, grouped by what the objects depend on. When that changes, a loop finds here which objects to reconcile. */
export class GroupedKeys {
  readonly #groups = new Map<string, Set<string>>();

  add(group: string, key: string): void {
    const keys = this.#groups.get(group);
    if (keys === undefined) this.#groups.set(group, new Set([key]));
    else keys.add(key);
  }

  /** Does nothing where the key is not in the group. */
  delete(group: string, key: string): void {
    const keys = this.#groups.get(group);
    keys?.delete(key);
    if (keys?.size === 0) this.#groups.delete(group);
  }

  /** Whether a group has keys. */
  has(group: string): boolean {
    return this.#groups.has(group);
  }

  /** The keys of a group in the order in which they were added. The iteration includes keys that are added meanwhile. */
  of(group: string): Iterable<string> {
    return this.#groups.get(group) ?? [];
  }
}
