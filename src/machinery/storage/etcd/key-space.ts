import { shortened } from "../../api/format-value.ts";
import type { Profile } from "../../api/names.ts";
import { byteOrdered } from "../byte-ordered.ts";
import { keyAfter } from "../key-range.ts";

export interface EtcdRange {
  readonly key: string;
  /** Exclusive. Empty: only the one key. */
  readonly rangeEnd: string;
}

const slash = 0x2f;
const profiles = ["platform", "kubernetes"] as const satisfies readonly Profile[];
const isProfile = (name: string): boolean => profiles.some((profile) => profile === name);

/** The fence or the state of any store, and its prefix. */
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

  /** Writing this key makes etcd send an event. Used where etcd cannot report a watch's progress on request. */
  get fenceKey(): string {
    return `${this.#root}.`;
  }

  /** Says what happened to the prefix as a whole: see EtcdPrefix. */
  get stateKey(): string {
    return `${this.#root}.state`;
  }

  /** What the names of all keys of the store begin with, for people. */
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

  /** Undefined for a key that does not hold an object. */
  storeKey(etcdKey: string): string | undefined {
    const { length } = this.#root;
    return etcdKey.charCodeAt(length) === slash && etcdKey.startsWith(this.#root) ? etcdKey.slice(length) : undefined;
  }

  etcdRange(start: string, end: string): EtcdRange {
    // A single key must have its own form: kine on PostgreSQL accepts no other.
    if (end === keyAfter(start)) return { key: this.etcdKey(start), rangeEnd: "" };
    return {
      key: this.#root + (byteOrdered(start) < "/" ? "/" : start),
      rangeEnd: this.#root + (byteOrdered(end) > "0" ? "0" : end),
    };
  }

  /** What a server with the same prefix and another naming profile has, and then everything else below the prefix. */
  foreignRanges(): EtcdRange[] {
    return [
      ...profiles.filter((profile) => profile !== this.#profile).map((profile) => this.#rangeOf(profile)),
      { key: `${this.#prefix}/`, rangeEnd: `${this.#root}.` },
      { key: `${this.#root}0`, rangeEnd: `${this.#prefix}0` },
    ];
  }

  /** Why the prefix may not be used beside a key of `foreignRanges`. Undefined for one of a server with a longer prefix. */
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

  /** Where the fence and the state are of each store, of either profile, among whose objects the keys of this prefix would be. */
  enclosingRanges(): EtcdRange[] {
    const names = this.#prefix.split("/"); // the first is empty: a prefix begins with a slash
    const shorter = names.flatMap((name, index) =>
      index > 1 && isProfile(name) ? [names.slice(0, index).join("/")] : [],
    );
    return shorter.flatMap((prefix) =>
      profiles.map((profile) => ({ key: `${prefix}/${profile}.`, rangeEnd: `${prefix}/${profile}/` })),
    );
  }

  /** Why the prefix may not be used when this is the first key of its store's objects: undefined unless another server begins there. */
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
