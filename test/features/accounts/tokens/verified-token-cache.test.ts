import assert from "node:assert/strict";
import { it } from "node:test";
import { VerifiedTokenCache } from "../../../../src/features/accounts/tokens/verified-token-cache.ts";
import { TestClock } from "./token-scene.ts";

it("the cache of verified tokens limits the total length of tokens, however long each is", () => {
  const cache = new VerifiedTokenCache<string>(new TestClock());
  const asked: string[] = [];
  const get = (token: string): void => void cache.get(token, () => (asked.push(token.slice(0, 1)), "good"));
  for (const letter of "abcba") get(letter.repeat(7 * 2 ** 20));
  assert.equal(asked.join(""), "abca");
});

it("the cache of verified tokens keeps a token no longer when the clock is set back", () => {
  const clock = new TestClock();
  const cache = new VerifiedTokenCache<string>(clock);
  assert.equal(
    cache.get("a", () => "good"),
    "good",
  );
  clock.passSeconds(-3600);
  assert.equal(
    cache.get("a", () => undefined),
    undefined,
  );
});
