import { byteOrdered } from "../byte-order.ts";

export interface EtcdRange {
  readonly key: string;
  /** Exclusive; "": the one key. */
  readonly rangeEnd: string;
}

/**
 * Where the store's keys are in etcd: `<prefix>/<profile><key>`, and every key begins with a slash. Beside them lies one key
 * of the store's own, the fence. "." and "0" are the bytes before and after "/".
 */
export class KeySpace {
  readonly #prefix: string;
  readonly #profile: string;
  readonly #root: string;

  constructor({ prefix, profile }: { readonly prefix: string; readonly profile: string }) {
    this.#prefix = prefix;
    this.#profile = profile;
    this.#root = `${prefix}/${profile}`;
  }

  /** Written to be heard of, where etcd does not tell on request how far a watch has come. */
  get fenceKey(): string {
    return `${this.#root}.`;
  }

  /** All keys, and the fence. */
  get watchedRange(): EtcdRange {
    return { key: `${this.#root}.`, rangeEnd: `${this.#root}0` };
  }

  /** Throws for a key that does not begin with a slash. */
  etcdKey(key: string): string {
    if (!key.startsWith("/")) throw new Error("a key must begin with a slash");
    return this.#root + key;
  }

  /** undefined for what is no key of the store's users. */
  storeKey(etcdKey: string): string | undefined {
    return etcdKey.startsWith(`${this.#root}/`) ? etcdKey.slice(this.#root.length) : undefined;
  }

  etcdRange(start: string, end: string): EtcdRange {
    // One key has a form of its own; kine on PostgreSQL takes no other.
    if (end === `${start}\0`) return { key: this.etcdKey(start), rangeEnd: "" };
    return {
      key: this.#root + (byteOrdered(start) < "/" ? "/" : start),
      rangeEnd: this.#root + (byteOrdered(end) > "0" ? "0" : end),
    };
  }

  /** What lies below the prefix and is not this profile's. */
  foreignRanges(): EtcdRange[] {
    return [
      { key: `${this.#prefix}/`, rangeEnd: `${this.#root}.` },
      { key: `${this.#root}0`, rangeEnd: `${this.#prefix}0` },
    ];
  }

  belongsToAnother(etcdKey: string): Error {
    const found = etcdKey.slice(this.#prefix.length + 1).split(/[./]/, 1)[0] ?? "";
    return new Error(
      `etcd's prefix ${this.#prefix} belongs to the naming profile ${JSON.stringify(found)} and can't be opened with ${JSON.stringify(this.#profile)}`,
    );
  }
}
