/** An answer with a revision of the whole store: a write's own revision, or that of a list. */
export interface RevisionTold {
  readonly type: "write" | "list";
  readonly invokedAt: number;
  readonly returnedAt: number;
  readonly revision: number;
}

/** An operation that started after another one ended must have a higher revision. A list may have the same. */
export function revisionFaults(told: readonly RevisionTold[]): string[] {
  const byInvocation = told.toSorted((one, other) => one.invokedAt - other.invokedAt);
  const byReturn = told.toSorted((one, other) => one.returnedAt - other.returnedAt);
  const faults: string[] = [];
  let ended = 0;
  let highest = 0;
  for (const { type, invokedAt, revision } of byInvocation) {
    for (; (byReturn[ended]?.returnedAt ?? Infinity) < invokedAt; ended++) {
      highest = Math.max(highest, byReturn[ended]?.revision ?? 0);
    }
    const isInOrder = type === "list" ? revision >= highest : revision > highest;
    if (!isInOrder) faults.push(`a ${type} told revision ${revision} after ${highest} had been told`);
  }
  return faults;
}
