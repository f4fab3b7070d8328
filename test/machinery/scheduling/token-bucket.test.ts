import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TokenBucket } from "../../../src/machinery/scheduling/token-bucket.ts";

describe("a token bucket", () => {
  let now = 100_000;
  const emptied = (): TokenBucket => {
    const bucket = new TokenBucket({ burst: 10, perSecond: 2, clock: { now: () => now } });
    bucket.take(bucket.available());
    return bucket;
  };

  it("fills at its rate up to the burst", () => {
    const bucket = emptied();
    assert.equal(bucket.millisecondsUntil(1), 500);
    now += 1500;
    assert.equal(bucket.available(), 3);
    now += 60_000;
    assert.equal(bucket.available(), 10);
  });

  it("fills also while its clock is set back", () => {
    const bucket = emptied();
    now -= 3_600_000;
    assert.equal(bucket.available(), 10);
    bucket.take(10);
    now += 1000;
    assert.equal(bucket.available(), 2);
  });
});
