import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  emptyRing,
  lifetimeStep,
  signingFromNow,
  signingKeyAt,
  stateOfKey,
  withKey,
  withLifetime,
} from "../../../../src/features/accounts/keys/key-ring.ts";
import type { KeyRing } from "../../../../src/features/accounts/keys/key-ring.ts";

const start = Date.parse("2026-01-01T00:00:00Z");
const hour = 3_600_000;
const privateKey = { file: "unused" };
const add = (ring: KeyRing, kid: string, now: number, publishMilliseconds: number): KeyRing =>
  withKey(ring, { kid, algorithm: "ES256", now, publishMilliseconds, privateKey, longestLifetimeSeconds: 0 });
const stateOf = (ring: KeyRing, kid: string, now: number) => {
  const key = ring.keys.find((one) => one.kid === kid);
  assert.ok(key);
  return stateOfKey(key, { ring, now });
};

describe("the key ring", () => {
  const first = add(emptyRing, "first", start, 0);
  const rotated = add(first, "second", start + hour, hour);

  it("does not sign with a new key before its time, by each process's own clock", () => {
    assert.equal(signingKeyAt(rotated, start + 2 * hour - 1)?.kid, "first");
    assert.equal(signingKeyAt(rotated, start + 2 * hour)?.kid, "second");
    assert.equal(signingKeyAt(rotated, start + hour)?.kid, "first", "a clock that went back");
    assert.deepEqual(stateOf(rotated, "second", start + hour), { type: "published" });
  });

  it("says of each key that it is published, then signs, then verifies", () => {
    const typesAt = (now: number): string[] => ["first", "second"].map((kid) => stateOf(rotated, kid, now).type);
    assert.deepEqual(typesAt(start + hour), ["signing", "published"]);
    assert.deepEqual(typesAt(start + 2 * hour - 1), ["signing", "published"]);
    assert.deepEqual(typesAt(start + 2 * hour), ["verifying", "signing"]);
  });

  it("changes for a lifetime that a key may not sign yet, and for no other", () => {
    const long = withLifetime(rotated, { kid: "first", lifetimeSeconds: 600 });
    assert.notEqual(long, rotated);
    assert.equal(withLifetime(long, { kid: "first", lifetimeSeconds: 600 }), long);
    assert.equal(withLifetime(long, { kid: "absent", lifetimeSeconds: 601 }), long);
  });

  it("keeps an old key until its last token has expired, and longer for clocks that differ", () => {
    const long = withLifetime(rotated, { kid: "first", lifetimeSeconds: 86_000 });
    const issued = withLifetime(long, { kid: "first", lifetimeSeconds: 600 });
    const ends = start + 2 * hour + (lifetimeStep(86_000) + 60 + 300) * 1000;
    assert.deepEqual(stateOf(issued, "first", start + 2 * hour), { type: "verifying", until: ends });
    assert.deepEqual(stateOf(issued, "first", ends), { type: "ended" });
  });

  it("assumes no lifetime for tokens that an earlier version issued", () => {
    const unknown = { ...first, keys: first.keys.map((key) => ({ ...key, longestLifetimeSeconds: null })) };
    const later = add(withLifetime(unknown, { kid: "first", lifetimeSeconds: 600 }), "second", start, hour);
    assert.deepEqual(stateOf(later, "first", start + 1e6 * hour), { type: "verifying", until: undefined });
  });

  it("lets a published key sign again, which ends the other one", () => {
    const [key] = rotated.keys;
    assert.ok(key);
    const again = signingFromNow(rotated, { key, now: start + 3 * hour });
    assert.equal(signingKeyAt(again, start + 3 * hour)?.kid, "first");
    assert.equal(stateOf(again, "second", start + 3 * hour).type, "verifying");
  });

  it("records lifetimes in few steps, each at most a quarter too long", () => {
    const lifetime = fc.integer({ min: 1, max: 2 ** 32 });
    fc.assert(
      fc.property(lifetime, lifetime, (one, other) => {
        const step = lifetimeStep(one);
        assert.ok(step >= one && step <= Math.max(one, 600) * 1.25);
        assert.equal(lifetimeStep(step), step);
        assert.ok(one > other || step <= lifetimeStep(other));
      }),
    );
    let steps = 0;
    for (let longest = 0; longest < 2 ** 32; longest = lifetimeStep(longest + 1)) steps += 1;
    assert.ok(steps <= 92);
  });
});
