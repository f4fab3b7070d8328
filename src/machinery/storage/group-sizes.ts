/** What writes of a key that are under way will add to its group. */
export interface Reservation {
  readonly group: string;
  readonly key: string;
  /** The most that one of them adds. */
  bytes: number;
  /** How many of them have not ended. */
  writes: number;
}

/** How many bytes the values of some keys take, by the group that a value belongs to. */
export class GroupSizes {
  /** Of each group that has some, with what is reserved. */
  readonly #bytes = new Map<string, number>();
  /** By the key: of several writes of one, only the first succeeds. */
  readonly #reserved = new Map<string, Reservation>();

  of(group: string): number {
    return this.#bytes.get(group) ?? 0;
  }

  /** Negative where a value has become smaller, or is gone. */
  add(group: string, bytes: number): void {
    if (bytes === 0) return;
    const sum = this.of(group) + bytes;
    if (sum === 0) this.#bytes.delete(group);
    else this.#bytes.set(group, sum);
  }

  /** Counts a write that begins. Give what it returns to `release` when the write has ended. */
  reserve({ group, key, bytes }: Pick<Reservation, "group" | "key" | "bytes">): Reservation {
    const known = this.#reserved.get(key);
    if (known === undefined) {
      const reservation = { group, key, bytes, writes: 1 };
      this.#reserved.set(key, reservation);
      this.add(group, bytes);
      return reservation;
    }
    this.add(known.group, Math.max(0, bytes - known.bytes));
    known.bytes = Math.max(known.bytes, bytes);
    known.writes += 1;
    return known;
  }

  release(reservation: Reservation): void {
    reservation.writes -= 1;
    if (reservation.writes === 0 && this.#reserved.get(reservation.key) === reservation) this.settle(reservation.key);
  }

  /** A write of the key has been applied: what it added is counted by `add` from now on. */
  settle(key: string): void {
    const reservation = this.#reserved.get(key);
    if (reservation === undefined) return;
    this.#reserved.delete(key);
    this.add(reservation.group, -reservation.bytes);
  }

  reservedFor(key: string): number {
    return this.#reserved.get(key)?.bytes ?? 0;
  }

  /** Each group that has some, with its bytes. */
  entries(): IterableIterator<[string, number]> {
    return this.#bytes.entries();
  }
}
