import { shortened } from "../../api/text/format-value.ts";
import type { Profile } from "../../api/names.ts";
import { byteOrdered } from "../byte-ordered.ts";
import { keyAfter } from "../key-range.ts";

export interface EtcdRange {
  readonly key: string;
  /** The end, exclusive. Empty: the range contains only `key`. */
  readonly rangeEnd: string;
}

const slash = 0x2f;
const profiles = ["platform", "kubernetes"] as const satisfies readonly Profile[];
const isProfile = (name: string): boolean => profiles.some((profile) => profile === name);

/** Matches the fence key or the state key of any store, and captures the store's prefix. */
const fenceOrState = new RegExp(`^(.+)/(?:${profiles.join("|")})[.](?:state)?$`);

/**
 * Maps the store's keys to etcd's keys: `<prefix>/<profile><key>`. Every store key starts with a slash. Two more keys,
 * the fence and the state, belong to the store itself. "." and "0" are the bytes before and after "/".
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

  /** A key that is written so that etcd sends an event to the watches, where etcd cannot report their progress on request. */
  get fenceKey(): string {
    return `${this.#root}.`;
  }

  /** The key of the prefix's state: see EtcdPrefix. */
  get stateKey(): string {
    return `${this.#root}.state`;
  }

  /** The beginning of all keys of the store, for messages. */
  get root(): string {
    return this.#root;
  }

  /** All keys of the store, the fence and the state. */
  get watchedRange(): EtcdRange {
    return this.#rangeOf(this.#profile);
  }

  #rangeOf(profile: string): EtcdRange {
    const root = `${this.#prefix}/${profile}`;
    return { key: `${root}.`, rangeEnd: `${root}0` };
  }

  /** Throws for a key that does not start with a slash. */
  etcdKey(key: string): string {
    if (!key.startsWith("/")) throw new Error("a key must begin with a slash");
    return this.#root + key;
  }

  /** Returns the store's key of an etcd key. Undefined for a key that does not hold an object. */
  storeKey(etcdKey: string): string | undefined {
    const { length } = this.#root;
    return etcdKey.charCodeAt(length) === slash && etcdKey.startsWith(this.#root) ? etcdKey.slice(length) : undefined;
  }

  etcdRange(start: string, end: string): EtcdRange {
    // A single key has no `rangeEnd`: kine on PostgreSQL accepts no other form.
    if (end === keyAfter(start)) return { key: this.etcdKey(start), rangeEnd: "" };
    return {
      key: this.#root + (byteOrdered(start) < "/" ? "/" : start),
      rangeEnd: this.#root + (byteOrdered(end) > "0" ? "0" : end),
    };
  }

  /** The keys of a server with the same prefix and another naming profile, and then all other keys below the prefix. */
  foreignRanges(): EtcdRange[] {
    return [
      ...profiles.filter((profile) => profile !== this.#profile).map((profile) => this.#rangeOf(profile)),
      { key: `${this.#prefix}/`, rangeEnd: `${this.#root}.` },
      { key: `${this.#root}0`, rangeEnd: `${this.#prefix}0` },
    ];
  }

  /** Says why a key of `foreignRanges` forbids the prefix. Undefined for a key of a server with a longer prefix. */
  foreignFault(etcdKey: string): UnusablePrefix | undefined {
    const [first = "", ...names] = etcdKey.slice(this.#prefix.length + 1).split(/[./]/);
    if (isProfile(first)) {
      return new UnusablePrefix(
        `etcd's prefix ${this.#prefix} has the names of the profile ${first}, not ${this.#profile}: start with --profile ${first}, or with another --etcd-prefix`,
      );
    }
    if (names.some(isProfile)) return undefined;
    return new UnusablePrefix(
      `etcd's prefix ${this.#prefix} has keys of another program, such as ${JSON.stringify(shortened(etcdKey))}: start with another --etcd-prefix`,
    );
  }

  /** The ranges of the fence and state keys of all stores, of either profile, within which this prefix would lie, like their objects. */
  enclosingRanges(): EtcdRange[] {
    const names = this.#prefix.split("/"); // the first is empty: a prefix begins with a slash
    const shorter = names.flatMap((name, index) =>
      index > 1 && isProfile(name) ? [names.slice(0, index).join("/")] : [],
    );
    return shorter.flatMap((prefix) =>
      profiles.map((profile) => ({ key: `${prefix}/${profile}.`, rangeEnd: `${prefix}/${profile}/` })),
    );
  }

  /** Says why the first key below this prefix forbids the prefix: it belongs to another server. Undefined for any other first key. */
  enclosedFault(etcdKey: string): UnusablePrefix | undefined {
    const enclosed = fenceOrState.exec(etcdKey)?.[1];
    if (enclosed === undefined) return undefined;
    return new UnusablePrefix(
      `another server has etcd's prefix ${enclosed}, which would be among the keys of ${this.#root}: start with another --etcd-prefix`,
    );
  }

  liesWithin(etcdKey: string): UnusablePrefix {
    const root = etcdKey.slice(0, etcdKey.lastIndexOf("."));
    return new UnusablePrefix(
      `etcd's prefix ${this.#prefix} is among the keys of another server, which has ${root}: start with another --etcd-prefix`,
    );
  }
}

/** A prefix of etcd that no server may use. The message says why, and what to do. */
export class UnusablePrefix extends Error {
  override readonly name = "UnusablePrefix";
}
