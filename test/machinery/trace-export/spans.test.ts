import assert from "node:assert/strict";
import { test } from "node:test";
import { loopSpan } from "../../../src/machinery/trace-export/spans.ts";
import type { TracedReconcile } from "../../../src/machinery/tracing/loop-trace.ts";

test("the span of a loop's run is an error only when the run failed, whatever it says of its object", () => {
  assert.deepEqual(statusOf({ outcome: "failed the request: SignerValidationFailure" }), {});
  assert.deepEqual(statusOf({ outcome: "failed, will retry: no answer", error: new Error("no answer") }), { code: 2 });
});

function statusOf(run: Pick<TracedReconcile, "outcome" | "error">): object {
  const context = { traceId: "0".repeat(32), spanId: "0".repeat(16), isSampled: true };
  const reconcile = { controller: "csrsigning", key: "a", microseconds: 1, activity: {}, ...run };
  return loopSpan(reconcile, { context, endedAt: 0 }).status;
}
