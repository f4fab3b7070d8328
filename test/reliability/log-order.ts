import type { Operation } from "./linearizability.ts";
import type { SeenEvent } from "./watch-follower.ts";

interface Placed {
  readonly returnedAt: number;
  readonly position: number;
}

/**
 * Whether the order in which a watch told the changes of one key explains every operation on it: then that order is the
 * proof that the history is linearizable, however many operations were never answered. Each operation is put at the first
 * change whose state it could have seen and that none before it has passed. False proves nothing.
 */
export function isExplainedByLog(operations: readonly Operation[], log: readonly SeenEvent[]): boolean {
  // State 0 is before the first change, state n after the n-th: the revision of what is there, or undefined.
  const states = [undefined, ...log.map(({ type, revision }) => (type === "DELETED" ? undefined : revision))];
  const revisionOf = new Map<string, number>();
  for (const operation of operations) if ("revision" in operation) revisionOf.set(operation.value, operation.revision);
  const claimed = new Set<number>();
  const placed: Placed[] = [];
  let unexplained = 0;
  for (const operation of operations.toSorted((one, other) => one.invokedAt - other.invokedAt)) {
    const revision = "value" in operation ? revisionOf.get(operation.value) : undefined;
    const isUnknown = operation.outcome === "unknown";
    if (isUnknown && revision === undefined) {
      unexplained += 1;
      continue;
    }
    let passed = 0;
    for (const { returnedAt, position } of placed) {
      if (returnedAt < operation.invokedAt && position > passed) passed = position;
    }
    const isWrite = operation.action !== "read" && (operation.outcome === "done" || isUnknown);
    const position = states.findIndex((state, index) => {
      if (isWrite) {
        // A write makes its state: nobody who had an answer before it was sent can have seen that.
        if (index <= passed || claimed.has(index)) return false;
        return operation.action === "delete" ? index > 0 && state === undefined : state === revision;
      }
      return index >= passed && couldSee(operation, state);
    });
    if (position === -1) return false;
    if (isWrite) claimed.add(position);
    placed.push({ returnedAt: operation.returnedAt, position });
  }
  return log.length - claimed.size <= unexplained;
}

function couldSee(operation: Operation, state: number | undefined): boolean {
  switch (operation.outcome) {
    case "found":
      return state === operation.revision;
    case "missing":
      return state === undefined;
    case "exists":
      return state !== undefined;
    case "conflict":
      return state !== undefined && state !== operation.expectedRevision;
    case "done":
    case "unknown":
      return false;
  }
}
