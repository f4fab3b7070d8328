import { parseJsonObject } from "../../api/json-object.ts";
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
 * What happened to everything below a prefix of etcd at once. A prefix without a state is an ordinary one.
 *
 * - `importing`: objects are being created there, or that broke off. No server may use it.
 * - `imported`: objects came from elsewhere. Clients see etcd's revisions plus `shift`.
 * - `grouped`: each write has a revision of its own (see RevisionForm). Clients see these plus `shift`.
 * - `moved`: its objects are served from elsewhere since.
 */
export type EtcdPrefixState =
  | { readonly type: "importing" }
  | { readonly type: "imported"; readonly shift: number }
  | { readonly type: "grouped"; readonly shift: number }
  | { readonly type: "moved" };

/** How a server uses a prefix. */
export interface OpenedPrefix {
  readonly form: RevisionForm;
  /** To be added to the revisions of the form (see ShiftedStore). */
  readonly shift: number;
  /** The key of the state, as long as it says this. Undefined for plain revisions. */
  readonly guard: GuardMessage | undefined;
  /** etcd's revision at the end of the import: those before it are not of the server. 0: nothing was imported. */
  readonly importedAt: number;
}

interface ReadState {
  readonly state: EtcdPrefixState;
  /** etcd's. */
  readonly modRevision: number;
  readonly importedAt: number;
}

interface EtcdPrefixOptions {
  readonly keys: KeySpace;
  readonly call: MakeEtcdCall;
}

/** What one key says of all keys of a store in etcd. */
export class EtcdPrefix {
  readonly #keys: KeySpace;
  readonly #call: MakeEtcdCall;

  constructor({ keys, call }: EtcdPrefixOptions) {
    this.#keys = keys;
    this.#call = call;
  }

  /**
   * Checks the prefix, and tells how it is used. Begins an empty one where it may. Rejects with UnusablePrefix when it
   * belongs to another naming profile, its objects are elsewhere or its state is lost, and with StoreUnavailable.
   */
  async open({ mayBegin }: { readonly mayBegin: boolean }): Promise<OpenedPrefix> {
    await this.#refuseForeign();
    const { root } = this.#keys;
    const found = (await this.#read()) ?? (await (mayBegin ? this.#begin() : this.#readAgain()));
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
   * Takes an empty prefix for objects from elsewhere, whose newest revision is given: no server uses it until `finishImport`. The
   * shift makes all new revisions higher. Rejects with UnusablePrefix when it is not empty.
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

  /** Groups writes from the beginning, where the server can. Returns the state then: other replicas may begin too. */
  async #begin(): Promise<ReadState | undefined> {
    const state: EtcdPrefixState = { type: "grouped", shift: 0 };
    const written = await this.#writeFirst(state);
    return typeof written === "number" ? { state, modRevision: written, importedAt: 0 } : this.#read();
  }

  /** The state of a prefix that had none a moment ago. A server that begins an empty one meanwhile groups its writes. */
  async #readAgain(): Promise<ReadState | undefined> {
    if ((await this.#firstOf(this.#keys.watchedRange)) !== undefined) return this.#read();
    return { state: { type: "grouped", shift: 0 }, modRevision: 0, importedAt: 0 };
  }

  /** Writes the state where the store has no key at all. Returns etcd's revision; undefined when it has one. */
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

  /** Does the same as `#writeFirst`, in two steps. */
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

  /** Throws where the state is gone and objects are there: without it, grouped revisions would be read as plain ones, and go back. */
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
    // The first state of an import is another one.
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

/** Throws UnusablePrefix for a state that a later version wrote, or another program. */
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
