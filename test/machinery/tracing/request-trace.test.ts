import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ApiError, conflict } from "../../../src/machinery/api/api-error.ts";
import { currentTrace, requestChannel, RequestTrace } from "../../../src/machinery/tracing/request-trace.ts";
import type { TracedRequest } from "../../../src/machinery/tracing/request-trace.ts";

const answered = { auditId: "id", method: "GET", uri: "/", user: "jane", status: 200 };

/** The messages that a subscriber gets for one request. */
function published(answer: (trace: RequestTrace) => void): TracedRequest {
  const messages: TracedRequest[] = [];
  const collect = (message: unknown): void => void messages.push(message as TracedRequest);
  requestChannel.subscribe(collect);
  try {
    const trace = new RequestTrace();
    trace.run(() => answer(trace));
    trace.publish(answered);
  } finally {
    requestChannel.unsubscribe(collect);
  }
  const [message] = messages;
  assert.ok(message);
  return message;
}

describe("the trace of a request", () => {
  it("reports its steps in order, with decision and duration", () => {
    const {
      steps,
      microseconds,
      activity: _,
      traceparent,
      ...rest
    } = published((trace) => {
      trace.begin("authenticate");
      trace.note("jane");
      trace.begin("authorize");
      trace.decided("allow: a rule");
    });
    assert.deepEqual([rest, traceparent], [answered, undefined]);
    assert.deepEqual(
      steps.map(({ step, decided }) => [step, decided]),
      [
        ["authenticate", "jane"],
        ["authorize", "allow: a rule"],
      ],
    );
    const sum = steps.reduce((total, step) => total + step.microseconds, 0);
    assert.ok(sum <= microseconds + steps.length);
  });

  it("names the step that refused, its code and fields, and leaves out the message, which may quote what was sent", () => {
    const error = new ApiError({
      code: 422,
      reason: "Invalid",
      message: 'data.key: Invalid value: "hunter2"',
      details: { causes: [{ field: "data.key", message: 'Invalid value: "hunter2"' }] },
    });
    const { steps } = published((trace) => {
      trace.begin("mutating admission");
      trace.decided("SomeRule");
      trace.refused(error);
    });
    assert.equal(steps[0]?.decided, "SomeRule; refused: 422 Invalid (data.key)");
  });

  it("continues a step that starts twice, and limits the number of steps and the length of each", () => {
    const { steps } = published((trace) => {
      for (let attempt = 0; attempt < 1000; attempt += 1) {
        trace.begin("validation");
        trace.begin("validation");
        trace.begin("store");
        trace.refused(conflict({ group: "", resource: "things" }, { name: "one", message: "taken" }));
      }
    });
    assert.equal(steps.length, 64);
    assert.deepEqual(
      steps.slice(0, 3).map(({ step }) => step),
      ["validation", "store", "validation"],
    );
    assert.ok(steps.every(({ decided }) => decided.length <= 600));
  });

  it("is available only while there is a subscriber, and does not change after it was published", () => {
    const trace = new RequestTrace();
    trace.run(() => assert.equal(currentTrace(), undefined));
    const { steps } = published((listened) => assert.equal(currentTrace(), listened));
    assert.deepEqual(steps, []);
    assert.equal(currentTrace(), undefined);
  });
});
