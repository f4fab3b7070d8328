import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { WakeSignal } from "../../../src/machinery/scheduling/wake-signal.ts";

const never = new AbortController().signal;

describe("the signal that wakes a loop", () => {
  it("aborts at each wake, also at one that came while the loop worked", () => {
    const wake = new WakeSignal();
    for (let round = 0; round < 3; round++) {
      wake.renew();
      const sleeping = wake.or(never);
      assert.equal(sleeping.aborted, false);
      wake.wake();
      assert.equal(sleeping.aborted, true);
      assert.equal(wake.or(never).aborted, true);
    }
  });

  it("aborts when all ends, and stays so", () => {
    const wake = new WakeSignal();
    const end = new AbortController();
    const sleeping = wake.or(end.signal);
    end.abort();
    assert.equal(sleeping.aborted, true);
    wake.renew();
    assert.equal(wake.or(end.signal).aborted, true);
    assert.equal(wake.or(never).aborted, false);
  });

  it("is the same one for all sleeps until a wake: Node.js would keep a part of each", (context) => {
    const any = context.mock.method(AbortSignal, "any");
    const wake = new WakeSignal();
    for (let sleeps = 0; sleeps < 1000; sleeps++) {
      wake.renew();
      wake.or(never);
    }
    assert.equal(any.mock.callCount(), 1);
    wake.wake();
    wake.renew();
    wake.or(never);
    assert.equal(any.mock.callCount(), 2);
  });
});
