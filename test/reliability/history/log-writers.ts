import type { ChangeTimes } from "./change-times.ts";
import type { Operation } from "./operation.ts";
import type { FollowedEvent } from "../watch-follower.ts";

type Write = Exclude<Operation, { readonly action: "read" }>;

/**
 * Finds the operation behind each change in one key's log: each written value and each deleted object's uid is unique.
 */
export class LogWriters {
  readonly #log: readonly FollowedEvent[];
  /** Change (from 1) by what names it. */
  readonly #changes = new Map<string, number>();
  readonly #made = new Set<number>();
  #ambiguity: string | undefined;

  constructor(log: readonly FollowedEvent[]) {
    this.#log = log;
    for (const [index, event] of log.entries()) {
      const name = event.type === "DELETED" ? deleteOf(event.uid) : putOf(event.value);
      if (this.#changes.has(name)) this.#ambiguity ??= `a watch told twice: ${JSON.stringify(event)}`;
      if (event.revision <= (log[index - 1]?.revision ?? 0)) {
        this.#ambiguity ??= `a watch told out of order: ${JSON.stringify(event)}`;
      }
      this.#changes.set(name, index + 1);
    }
  }

  /**
   * Bounds the time of every change by the operation that made it and the time when it was delivered. Or explains a
   * contradiction.
   */
  place(operations: readonly Operation[], times: ChangeTimes): string | undefined {
    if (this.#ambiguity !== undefined) return this.#ambiguity;
    for (const [index, { seenAt }] of this.#log.entries()) times.happenedNotAfter(index + 1, seenAt);
    const unknownDeletes: Operation[] = [];
    for (const operation of operations) {
      if (operation.action === "read") continue;
      if (operation.action === "delete" && operation.outcome !== "done") {
        if (operation.outcome === "unknown") unknownDeletes.push(operation);
        continue;
      }
      const fault = this.#placeWrite(operation, times);
      if (fault !== undefined) return `${fault}: ${JSON.stringify(operation)}`;
    }
    return this.#placeUnknown(unknownDeletes, times);
  }

  #placeWrite(write: Write, times: ChangeTimes): string | undefined {
    const name = "value" in write ? putOf(write.value) : deleteOf(write.outcome === "done" ? write.uid : undefined);
    const change = this.#changes.get(name);
    const { outcome } = write;
    if (outcome !== "done" && outcome !== "unknown") {
      return change === undefined ? undefined : `refused, but a watch told of it`;
    }
    if (change === undefined) return outcome === "done" ? "acknowledged, but no watch told of it" : undefined;
    if (this.#made.has(change)) return "acknowledged more than once";
    this.#made.add(change);
    times.madeBy(change, write);
    const revision = this.#log[change - 1]?.revision;
    if ("revision" in write && write.revision !== revision) return `a watch told its revision as ${revision}`;
    const { type, revision: revisionBefore } = this.#log[change - 2] ?? { type: "DELETED", revision: 0 };
    const existed = type !== "DELETED";
    if (existed === (write.action === "create")) return `it came after ${type} at ${revisionBefore}`;
    if (write.action === "update if" && write.expectedRevision !== revisionBefore) {
      return `it overwrote revision ${revisionBefore}`;
    }
    return undefined;
  }

  /**
   * A delete of unknown outcome caused each remaining deletion. These deletes differ only in the time when they were
   * sent, so the first change can be assigned to the one that was sent first.
   */
  #placeUnknown(deletes: readonly Operation[], times: ChangeTimes): string | undefined {
    const bySending = deletes.toSorted((one, other) => one.invokedAt - other.invokedAt).values();
    for (const [index, event] of this.#log.entries()) {
      if (this.#made.has(index + 1)) continue;
      const maker = event.type === "DELETED" ? bySending.next().value : undefined;
      if (maker === undefined) return `nobody made ${JSON.stringify(event)}`;
      times.madeBy(index + 1, maker);
    }
    return undefined;
  }
}

const putOf = (value: string | undefined): string => `put ${value}`;
const deleteOf = (uid: string | undefined): string => `delete ${uid}`;
