import assert from "node:assert/strict";
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { describe, it } from "node:test";
import { checkFor } from "../../accounts/tokens/token-scene.ts";
import { sharePath } from "../../../../src/machinery/scheduling/share-path.ts";
import { TestIssuer } from "../issuer-scene.ts";
import { api, clock, log, issuer, open, settled, ready, tokenOf, messageOf, disposable } from "./issuers-under-test.ts";

describe("an issuer", () => {
  it("that is unreachable has its tokens refused at once, and accepted again when it is back", async () => {
    issuer.isAway = true;
    using issuers = disposable(await ready());
    const token = await tokenOf();
    assert.ok(!(issuers.verify(token, checkFor(api)) instanceof Promise));
    assert.match(messageOf(await issuers.verify(token, checkFor(api))), /not initialized/);
    assert.equal(log.lines.filter((line) => line.includes("ECONNREFUSED")).length, 1);
    issuer.isAway = false;
    clock.passSeconds(10);
    await issuers.verify(token, checkFor(api));
    await settled();
    assert.equal((await issuers.verify(token, checkFor(api))).outcome, "authenticated");
  });

  it("that fails is asked again after a second, after twice the time with each failure, and at last every ten seconds", async () => {
    issuer.isAway = true;
    using issuers = disposable(await ready());
    const [begun, token, attempts] = [clock.now(), await tokenOf(), new Set<number>()];
    for (let { fetches } = issuer; attempts.size < 6; { fetches } = issuer) {
      clock.passSeconds(1);
      await issuers.verify(token, checkFor(api));
      await settled();
      if (issuer.fetches > fetches) attempts.add((clock.now() - begun) / 1000);
    }
    assert.deepEqual([...attempts], [1, 3, 7, 15, 25, 35]);
    issuer.isAway = false;
    clock.passSeconds(10);
    await issuers.verify(token, checkFor(api));
    await settled();
    assert.equal((await issuers.verify(token, checkFor(api))).outcome, "authenticated");
    issuer.isAway = true;
    clock.passSeconds(60);
    issuer.rotate("second");
    assert.match(messageOf(await issuers.verify(await tokenOf(), checkFor(api))), /failed to verify/);
    issuer.isAway = false;
    clock.passSeconds(1);
    assert.equal(messageOf(await issuers.verify(await tokenOf(), checkFor(api))), "authenticated");
  });

  it("has its first tokens wait for its keys, and refused when these do not come", async () => {
    const token = await tokenOf();
    using issuers = disposable(open());
    assert.equal(messageOf(await issuers.verify(token, checkFor(api))), "authenticated");
    issuer.isAway = true;
    using others = disposable(open());
    assert.match(messageOf(await others.verify(token, checkFor(api))), /not initialized/);
    assert.ok(!(others.verify(token, checkFor(api)) instanceof Promise));
  });

  it("may have a new key at any time, which is fetched for its first token", async () => {
    using issuers = disposable(await ready());
    const old = await tokenOf();
    issuer.rotate("second");
    clock.passSeconds(60);
    assert.equal((await issuers.verify(await tokenOf(), checkFor(api))).outcome, "authenticated");
    assert.match(messageOf(await issuers.verify(old, checkFor(api))), /failed to verify/);
  });

  it("may have a new key right after it was asked, also while it is asked, and good tokens wait for it", async () => {
    using issuers = disposable(await ready());
    issuer.rotate("second");
    const begun = clock.now();
    assert.equal(messageOf(await issuers.verify(await tokenOf(), checkFor(api))), "authenticated");
    assert.equal(clock.now() - begun, 1000);
    clock.passSeconds(60);
    const release = issuer.holdKeys();
    const forged = issuers.verify(await new TestIssuer(issuer.url).sign({}, clock.now()), checkFor(api));
    await settled();
    issuer.rotate("third");
    const good = issuers.verify(await tokenOf(), checkFor(api));
    release();
    assert.equal(messageOf(await good), "authenticated");
    assert.match(messageOf(await forged), /failed to verify/);
  });

  it("is asked at most once in a second, whatever keys tokens name", async () => {
    using issuers = disposable(await ready());
    const { fetches } = issuer;
    const forgers = Array.from({ length: 300 }, () => new TestIssuer(issuer.url));
    const forged = await Promise.all(forgers.map((one, index) => (one.rotate(`k${index}`), one.sign({}, clock.now()))));
    await Promise.allSettled(forged.map(async (token) => issuers.verify(token, checkFor(api))));
    assert.equal(issuer.fetches - fetches, 2);
  });

  it("has at most a hundred tokens with unknown keys wait for it at a time, and one more is not called bad", async () => {
    using issuers = disposable(await ready());
    const [forged, good] = [await new TestIssuer(issuer.url).sign({}, clock.now()), await tokenOf()];
    clock.passSeconds(60);
    const checks = Array.from({ length: 400 }, (_, index) => checkFor(api, `192.0.2.${index % 20}`));
    const waiting = Promise.allSettled(checks.map(async (check) => issuers.verify(forged, check)));
    await assert.rejects(async () => issuers.verify(forged, checkFor(api)), { code: 429, retryAfterSeconds: 1 });
    assert.equal((await issuers.verify(good, checkFor(api))).outcome, "authenticated");
    const answers = (await waiting).filter((one) => one.status === "fulfilled");
    assert.ok(answers.length <= 100);
    for (const { value } of answers) assert.match(messageOf(value), /failed to verify/);
    assert.match(messageOf(await issuers.verify(forged, checkFor(api))), /failed to verify/);
  });

  it("has a token with a new key wait for it, however many forged ones of another address wait, and one in a TokenReview", async () => {
    using issuers = disposable(await ready());
    const forged = await new TestIssuer(issuer.url).sign({}, clock.now());
    issuer.rotate("second");
    const good = await tokenOf();
    const waiting = Promise.allSettled(Array.from({ length: 400 }, async () => issuers.verify(forged, checkFor(api))));
    const reviewed = { audiences: api, asker: () => sharePath({ username: "ann", groups: [], extra: {} }) };
    const answers = await Promise.all([
      issuers.verify(good, checkFor(api, "192.0.2.2")),
      issuers.verify(good, reviewed),
    ]);
    assert.deepEqual(answers.map(messageOf), ["authenticated", "authenticated"]);
    await waiting;
  });

  it("has no key checked twice for a token, when it answers with the same keys again", async (t) => {
    using issuers = disposable(await ready());
    const checks = t.mock.method(crypto, "verify");
    syncBuiltinESMExports();
    t.after(() => (checks.mock.restore(), syncBuiltinESMExports()));
    const forger = new TestIssuer(issuer.url);
    const { fetches } = issuer;
    for (const expected of [1, 2]) {
      const forged = await forger.sign({ jti: String(expected) }, clock.now());
      assert.match(messageOf(await issuers.verify(forged, checkFor(api))), /failed to verify/);
      assert.deepEqual([checks.mock.callCount(), issuer.fetches - fetches], [expected, 2 * expected]);
    }
  });

  it("is asked again at once after the clock was set back", async () => {
    using issuers = disposable(await ready());
    issuer.rotate("second");
    clock.passSeconds(-3600);
    assert.equal((await issuers.verify(await tokenOf(), checkFor(api))).outcome, "authenticated");
  });

  it("is asked again when its keys are as old as it allows, but once an hour at least, and once a minute at most", async () => {
    for (const [allowedSeconds, seconds] of [
      [0, 60],
      [300, 300],
      [86_400, 3600],
    ] as const) {
      issuer.maximumAgeMilliseconds = allowedSeconds * 1000;
      using issuers = disposable(await ready());
      const { fetches } = issuer;
      const fetchesAfter = async (passedSeconds: number): Promise<number> => {
        clock.passSeconds(passedSeconds);
        await issuers.verify(await tokenOf(), checkFor(api));
        await settled();
        return issuer.fetches - fetches;
      };
      assert.deepEqual([await fetchesAfter(seconds - 1), await fetchesAfter(1)], [0, 2]);
    }
  });

  it("that becomes unreachable has its keys used for a day, and no longer", async () => {
    using issuers = disposable(await ready());
    issuer.isAway = true;
    clock.passSeconds(23 * 3600);
    assert.equal((await issuers.verify(await tokenOf(), checkFor(api))).outcome, "authenticated");
    clock.passSeconds(3600);
    assert.match(messageOf(await issuers.verify(await tokenOf(), checkFor(api))), /not initialized/);
  });

  it("that withdraws a key has that key's tokens refused within ten minutes", async () => {
    using issuers = disposable(await ready());
    const old = await tokenOf();
    issuer.rotate("second");
    clock.passSeconds(599);
    await issuers.verify(old, checkFor(api));
    clock.passSeconds(1);
    await issuers.verify(old, checkFor(api));
    await settled();
    clock.passSeconds(10);
    const fresh = await issuer.sign({ exp: Math.floor(clock.now() / 1000) + 60 }, clock.now());
    assert.equal((await issuers.verify(fresh, checkFor(api))).outcome, "authenticated");
    assert.notEqual((await issuers.verify(old, checkFor(api))).outcome, "authenticated");
  });

  it("that withdraws all its keys has its tokens refused within ten minutes, and accepted again with a new key", async () => {
    using issuers = disposable(await ready());
    const old = await issuer.sign({ exp: Math.floor(clock.now() / 1000) + 86_400 }, clock.now());
    issuer.withdrawAll();
    clock.passSeconds(600);
    await issuers.verify(old, checkFor(api));
    await settled();
    clock.passSeconds(10);
    assert.equal((await issuers.verify(old, checkFor(api))).outcome, "refused");
    assert.ok(log.lines.some((line) => /its tokens are refused.*has no key that can verify tokens/.test(line)));
    clock.passSeconds(10);
    issuer.rotate("second");
    assert.equal((await issuers.verify(await tokenOf(), checkFor(api))).outcome, "authenticated");
  });

  it("is not used when its document is another issuer's, or names keys without TLS", async () => {
    for (const document of [
      { issuer: "https://other.example.com", jwks_uri: issuer.keysUrl },
      { issuer: issuer.url, jwks_uri: "http://login.example.com/keys" },
      { issuer: issuer.url },
      null,
    ]) {
      issuer.document = document;
      using issuers = disposable(await ready());
      assert.match(messageOf(await issuers.verify(await tokenOf(), checkFor(api))), /not initialized/);
    }
  });
});
