/** The bytes that running writes of a key will add to a group. Writes of one key may count for several groups, such as users. */
export interface Reservation {
  readonly group: string;
  readonly key: string;
  /** The most bytes that one of these writes adds. */
  bytes: number;
  /** How many of them have not ended. */
  writes: number;
}

/** How many bytes the values of some keys take, by the group that a value belongs to. */
export class GroupSizes {
  /** The bytes of each group that is not empty, including its reservations. */
  readonly #bytes = new Map<string, number>();
  /** The reservations by key and group. Writes of one key in a group share one, because only the first of them can succeed. */
  readonly #reserved = new Map<string, Map<string, Reservation>>();

  of(group: string): number {
    return this.#bytes.get(group) ?? 0;
  }

  /** Adds bytes to a group. They are negative when a value has become smaller, or was deleted. */
  add(group: string, bytes: number): void {
    if (bytes === 0) return;
    const sum = this.of(group) + bytes;
    if (sum === 0) this.#bytes.delete(group);
    else this.#bytes.set(group, sum);
  }

  /** Counts the bytes of a write that begins, until `settle`. Give the reservation to `release` when nothing was written. */
  reserve({ group, key, bytes }: Pick<Reservation, "group" | "key" | "bytes">): Reservation {
    let ofKey = this.#reserved.get(key);
    if (ofKey === undefined) this.#reserved.set(key, (ofKey = new Map()));
    let reservation = ofKey.get(group);
    if (reservation === undefined) ofKey.set(group, (reservation = { group, key, bytes: 0, writes: 0 }));
    this.add(group, Math.max(0, bytes - reservation.bytes));
    reservation.bytes = Math.max(bytes, reservation.bytes);
    reservation.writes += 1;
    return reservation;
  }

  release(reservation: Reservation): void {
    const { group, key, bytes } = reservation;
    reservation.writes -= 1;
    const ofKey = this.#reserved.get(key);
    if (reservation.writes > 0 || ofKey?.get(group) !== reservation) return;
    ofKey.delete(group);
    if (ofKey.size === 0) this.#reserved.delete(key);
    this.add(group, -bytes);
  }

  /** Removes the reservations of a key when a write of it is applied: `add` now counts the write's bytes. */
  settle(key: string): void {
    const ofKey = this.#reserved.get(key);
    if (ofKey === undefined) return;
    this.#reserved.delete(key);
    for (const { group, bytes } of ofKey.values()) this.add(group, -bytes);
  }

  /** Returns the bytes that a group's running writes of a key will add. */
  reservedFor({ group, key }: Pick<Reservation, "group" | "key">): number {
    return this.#reserved.get(key)?.get(group)?.bytes ?? 0;
  }

  /** Each group that is not empty, with its bytes. */
  entries(): IterableIterator<[string, number]> {
    return this.#bytes.entries();
  }
}
