/** When a request was sent and when its answer arrived, on one clock. Infinity when there was no answer. */
export interface Interval {
  readonly invokedAt: number;
  readonly returnedAt: number;
}

/**
 * What one client did to one key, and the result. Every write has a unique value. `revision` is the resourceVersion in
 * the answer, `uid` that of the deleted object. `unknown`: there was no answer, or one that does not tell the result,
 * so it may have happened at any time since, or never.
 */
export type Operation = Interval &
  (
    | { readonly action: "read"; readonly outcome: "found"; readonly value: string; readonly revision: number }
    | { readonly action: "read"; readonly outcome: "missing" }
    | { readonly action: "create"; readonly outcome: "done"; readonly value: string; readonly revision: number }
    | { readonly action: "create"; readonly outcome: "exists" | "unknown"; readonly value: string }
    | { readonly action: "update"; readonly outcome: "done"; readonly value: string; readonly revision: number }
    | { readonly action: "update"; readonly outcome: "missing" | "unknown"; readonly value: string }
    | (Conditional & { readonly outcome: "done"; readonly revision: number })
    | (Conditional & { readonly outcome: "conflict" | "missing" | "unknown" })
    | { readonly action: "delete"; readonly outcome: "done"; readonly uid: string }
    | { readonly action: "delete"; readonly outcome: "missing" | "unknown" }
  );

interface Conditional {
  readonly action: "update if";
  readonly value: string;
  /** The resourceVersion that the object must have. */
  readonly expectedRevision: number;
}
