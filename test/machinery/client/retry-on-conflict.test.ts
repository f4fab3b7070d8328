import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ApiError } from "../../../src/machinery/api/api-error.ts";
import { retryOnConflict } from "../../../src/machinery/client/retry-on-conflict.ts";

const failing = (failures: number, code: number) => {
  let attempts = 0;
  return {
    attempts: () => attempts,
    step(): Promise<void> {
      return ++attempts > failures
        ? Promise.resolve()
        : Promise.reject(new ApiError({ code, reason: "Conflict", message: "changed meanwhile" }));
    },
  };
};

describe("a step that may conflict with another writer", () => {
  it("is tried five times", async () => {
    const [four, five] = [failing(4, 409), failing(5, 409)];
    await retryOnConflict(four.step);
    await assert.rejects(retryOnConflict(five.step), /changed meanwhile/);
    assert.deepEqual([four.attempts(), five.attempts()], [5, 5]);
  });

  it("is tried once when it fails for another reason", async () => {
    const forbidden = failing(1, 403);
    await assert.rejects(retryOnConflict(forbidden.step), ApiError);
    assert.equal(forbidden.attempts(), 1);
  });
});
