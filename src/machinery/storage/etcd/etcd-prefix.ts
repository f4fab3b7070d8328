import { parseJsonObject } from "../../api/json/json-object.ts";
import { TransactionsUnsupported } from "../store.ts";
import type { MakeEtcdCall } from "./etcd-client.ts";
import { decodeRange, decodeSwap, decodeTransaction, encodeFirst, encodeRange, encodeSwap } from "./etcd-messages.ts";
import type { GuardMessage, KeyValue } from "./etcd-messages.ts";
import { etcdMethods } from "./etcd-methods.ts";
import { UnusablePrefix } from "./key-space.ts";
import type { EtcdRange, KeySpace } from "./key-space.ts";
import { everyKey } from "../key-range.ts";
import { groupedRevisions, isMarkedObject, plainRevisions } from "./revision-form.ts";
import type { RevisionForm } from "./revision-form.ts";

/**
 * The state of everything below a prefix of etcd. A prefix without a state has etcd's own revisions.
 *
 * - `importing`: an import creates objects there, or did not finish. No server may use the prefix.
 * - `imported`: the objects came from another store. Clients see etcd's revisions plus `shift`.
 * - `grouped`: each write has a revision of its own (see RevisionForm). Clients see these revisions plus `shift`.
 * - `moved`: the objects were moved to another store. No server may use the prefix.
 */
export type EtcdPrefixState =
  | { readonly type: "importing" }
  | { readonly type: "imported"; readonly shift: number }
  | { readonly type: "grouped"; readonly shift: number }
  | { readonly type: "moved" };

/** How a server uses a prefix. */
export interface OpenedPrefix {
  readonly form: RevisionForm;
  /** The number to add to the revisions of `form` (see ShiftedStore). */
  readonly shift: number;
  /** The condition of each write: the state's key is unchanged. Undefined for plain revisions. */
  readonly guard: GuardMessage | undefined;
  /** etcd's revision at the end of the import: the server has served no earlier revision. 0: nothing was imported. */
  readonly importedAt: number;
}

interface ReadState {
  readonly state: EtcdPrefixState;
  /** etcd's revision of the state's last write. */
  readonly modRevision: number;
  readonly importedAt: number;
}

interface EtcdPrefixOptions {
  readonly keys: KeySpace;
  readonly call: MakeEtcdCall;
}

/** Reads and writes the state of a store's prefix in etcd, which is stored in one key. */
export class EtcdPrefix {
  readonly #keys: KeySpace;
  readonly #call: MakeEtcdCall;

  constructor({ keys, call }: EtcdPrefixOptions) {
    this.#keys = keys;
    this.#call = call;
  }

  /**
   * Checks the prefix, and resolves with how to use it. With `mayBegin`, writes the state of an empty prefix. Rejects with
   * UnusablePrefix when another program or naming profile uses the prefix, when an import did not finish, or when its objects
   * were moved or its state is lost. Rejects also with StoreUnavailable.
   */
  async open({ mayBegin }: { readonly mayBegin: boolean }): Promise<OpenedPrefix> {
    await this.#refuseForeign();
    const { root } = this.#keys;
    const found = (await this.#read()) ?? (await (mayBegin ? this.#begin() : this.#expectedState()));
    const state = found?.state;
    if (state?.type === "importing") {
      throw new UnusablePrefix(
        `objects are being copied to etcd's ${root}, or that broke off: wait for the command (signet restore, signet storage migrate), ` +
          `or remove these keys and run it again: etcdctl del --prefix ${root}`,
      );
    }
    if (state?.type === "moved") {
      throw new UnusablePrefix(
        `the objects of etcd's ${root} were moved away: use the store that they are in now, or remove these keys to begin ` +
          `a new one: etcdctl del --prefix ${root}`,
      );
    }
    if (state === undefined) await this.#refuseLostState();
    const { modRevision = 0, importedAt = 0 } = found ?? {};
    const shift = state?.shift ?? 0;
    if (state?.type !== "grouped") return { form: plainRevisions, shift, guard: undefined, importedAt };
    return { form: groupedRevisions, shift, guard: this.#guard(modRevision), importedAt };
  }

  #guard(revision: number): GuardMessage {
    return { key: this.#keys.stateKey, revision, fenceKey: this.#keys.fenceKey };
  }

  /**
   * Reserves an empty prefix for objects of another store: no server uses it until `finishImport`. `revision` is the newest revision of the
   * other store, and the returned shift makes all new revisions higher. Rejects with UnusablePrefix when the prefix is not empty.
   */
  async startImport(revision: number): Promise<OpenedPrefix> {
    await this.#refuseForeign();
    const begun = await this.#writeFirst({ type: "importing" });
    const isPlain = begun === "unsupported";
    const written = isPlain ? await this.#writeWhereNothingIs({ type: "importing" }) : begun;
    if (written === undefined) {
      throw new UnusablePrefix(
        `etcd's ${this.#keys.root} is not empty: use another --etcd-prefix, or stop all servers of this one and remove its ` +
          `keys: etcdctl del --prefix ${this.#keys.root}`,
      );
    }
    const form = isPlain ? plainRevisions : groupedRevisions;
    const shift = Math.max(0, revision - form.storeRevision(written));
    return { form, shift, guard: isPlain ? undefined : this.#guard(written), importedAt: 0 };
  }

  async finishImport({ guard, shift }: OpenedPrefix): Promise<void> {
    await this.write({ type: guard === undefined ? "imported" : "grouped", shift });
  }

  /** Changes the state, or removes it. Returns etcd's revision. */
  async write(state: EtcdPrefixState | undefined): Promise<number> {
    const expectedRevision = (await this.#read())?.modRevision ?? 0;
    const message = encodeSwap({ key: this.#keys.stateKey, value: state && formatState(state), expectedRevision });
    const answer = await this.#call({
      path: etcdMethods.transaction,
      message,
      isRepeatable: false,
      decode: decodeSwap,
    });
    if (!answer.isWritten) throw new UnusablePrefix(`another process changes the state of etcd's ${this.#keys.root}`);
    return answer.revision;
  }

  /**
   * Writes the state `grouped` if the server supports it. Returns the state afterwards, which another replica may have written at the same
   * time.
   */
  async #begin(): Promise<ReadState | undefined> {
    const state: EtcdPrefixState = { type: "grouped", shift: 0 };
    const written = await this.#writeFirst(state);
    return typeof written === "number" ? { state, modRevision: written, importedAt: 0 } : this.#read();
  }

  /** Reads the state again, which was not there a moment ago. Without any key, returns the state that a server is going to write. */
  async #expectedState(): Promise<ReadState | undefined> {
    if ((await this.#firstOf(this.#keys.watchedRange)) !== undefined) return this.#read();
    return { state: { type: "grouped", shift: 0 }, modRevision: 0, importedAt: 0 };
  }

  /** Writes the state if the store has no key at all. Returns etcd's revision; undefined when the store has a key. */
  async #writeFirst(state: EtcdPrefixState): Promise<number | undefined | "unsupported"> {
    const { stateKey: key, watchedRange: range } = this.#keys;
    const message = encodeFirst({ key, value: formatState(state), range });
    try {
      const answer = await this.#call({
        path: etcdMethods.transaction,
        message,
        isRepeatable: false,
        decode: decodeTransaction,
      });
      return answer.isWritten ? answer.revision : undefined;
    } catch (error) {
      if (error instanceof TransactionsUnsupported) return "unsupported";
      throw error;
    }
  }

  /** As `#writeFirst`, with two calls instead of one transaction. */
  async #writeWhereNothingIs(state: EtcdPrefixState): Promise<number | undefined> {
    return (await this.#firstOf(this.#keys.watchedRange)) === undefined ? this.write(state) : undefined;
  }

  async #refuseForeign(): Promise<void> {
    for (const range of this.#keys.enclosingRanges()) {
      const enclosing = await this.#firstOf(range);
      if (enclosing !== undefined) throw this.#keys.liesWithin(enclosing.key);
    }
    const first = await this.#firstObject();
    const enclosed = first && this.#keys.enclosedFault(first.key);
    if (enclosed !== undefined) throw enclosed;
    for (const range of this.#keys.foreignRanges()) {
      const foreign = await this.#firstOf(range);
      const fault = foreign && this.#keys.foreignFault(foreign.key);
      if (fault !== undefined) throw fault;
    }
  }

  /** Throws when the state was removed but objects are there: grouped revisions would be read as plain ones, which are lower. */
  async #refuseLostState(): Promise<void> {
    const { root, stateKey } = this.#keys;
    const first = await this.#firstObject();
    if (first === undefined || !isMarkedObject(first.value)) return;
    throw new UnusablePrefix(
      `etcd's key ${stateKey} was removed, and the objects of ${root} can't be read without it: restore it, or all of etcd, from a ` +
        "snapshot; or restore a backup to another --etcd-prefix (signet restore)",
    );
  }

  async #read(): Promise<ReadState | undefined> {
    const found = await this.#firstOf({ key: this.#keys.stateKey, rangeEnd: "" });
    if (found === undefined) return undefined;
    const { createRevision, modRevision } = found;
    // After an import, the key was written twice: `importing` was its first value.
    return { state: parseState(found), modRevision, importedAt: createRevision === modRevision ? 0 : modRevision };
  }

  #firstObject(): Promise<KeyValue | undefined> {
    return this.#firstOf(this.#keys.etcdRange(everyKey.start, everyKey.end));
  }

  async #firstOf(range: EtcdRange): Promise<KeyValue | undefined> {
    const message = encodeRange({ ...range, revision: 0, limit: 1 });
    const { keyValues } = await this.#call({
      path: etcdMethods.range,
      message,
      isRepeatable: true,
      decode: decodeRange,
    });
    return keyValues[0];
  }
}

const formatState = (state: EtcdPrefixState): Buffer => Buffer.from(JSON.stringify(state));

/** Throws UnusablePrefix for a state that a later version or another program has written. */
function parseState({ key, value }: KeyValue): EtcdPrefixState {
  const { type, shift } = parseJsonObject(value.toString("utf8")) ?? {};
  if (type === "importing" || type === "moved") return { type };
  const hasShift = typeof shift === "number" && Number.isSafeInteger(shift) && shift >= 0;
  if ((type === "imported" || type === "grouped") && hasShift) return { type, shift };
  throw new UnusablePrefix(
    type === undefined
      ? `etcd's key ${key} was changed by another program: restore it from a snapshot of etcd`
      : `etcd's prefix has the unknown state ${JSON.stringify(type)}: use a later version of Signet`,
  );
}
