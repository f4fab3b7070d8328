import assert from "node:assert/strict";
import { it } from "node:test";
import { VerifiedTokenCache } from "../../../src/features/accounts/tokens/verified-token-cache.ts";
import { TestClock } from "./token-scene.ts";

it("the cache of verified tokens drops the least recently used beyond its bound", () => {
  const cache = new VerifiedTokenCache<string>({ clock: new TestClock(), maximumEntries: 2 });
  const asked: string[] = [];
  const get = (token: string): void => void cache.get(token, () => (asked.push(token), token));
  for (const token of ["a", "b", "a", "c", "a", "b"]) get(token);
  assert.deepEqual(asked, ["a", "b", "c", "b"]);
  assert.equal(cache.size, 2);
});

it("the cache of verified tokens limits the total length of tokens, however long each is", () => {
  const cache = new VerifiedTokenCache<string>({ clock: new TestClock(), maximumCharacters: 10 });
  const asked: string[] = [];
  const get = (token: string): void => void cache.get(token, () => (asked.push(token), token));
  for (const token of ["aaaa", "bbbb", "cccc", "bbbb", "aaaa"]) get(token);
  assert.deepEqual(asked, ["aaaa", "bbbb", "cccc", "aaaa"]);
  get("far too long to be kept");
  assert.equal(cache.size, 2);
});

it("the cache of verified tokens keeps a token no longer when the clock is set back", () => {
  const clock = new TestClock();
  const cache = new VerifiedTokenCache<string>({ clock });
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
