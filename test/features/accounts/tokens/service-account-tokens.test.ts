import assert from "node:assert/strict";
import { createHash, createPublicKey, generateKeyPairSync } from "node:crypto";
import { describe, it } from "node:test";
import { compactVerify, importJWK } from "jose";
import {
  apiAudience,
  bob,
  checkFor,
  encode,
  fixedTokenKeys,
  forge,
  goodClaims,
  issuer,
  newKeyPem,
  scene,
} from "./token-scene.ts";
import { learningKeys } from "../../../../src/features/accounts/tokens/service-account-tokens.ts";
import type { ApiError } from "../../../../src/machinery/api/api-error.ts";
import type { SharePath } from "../../../../src/machinery/scheduling/share-path.ts";
import { sharePath } from "../../../../src/machinery/scheduling/share-path.ts";
import {
  distinctKeys,
  parseTokenSigningKey,
  parseVerificationKeys,
} from "../../../../src/features/accounts/tokens/token-key.ts";

const hour = { audiences: [apiAudience], lifetimeSeconds: 3600 };

describe("a token that was issued", () => {
  for (const [algorithm, newPem] of Object.entries(newKeyPem)) {
    it(`with ${algorithm} authenticates here and verifies with an independent library`, async () => {
      const test = scene({}, newPem());
      const token = test.issue(bob, hour);
      const outcome = test.verify(token, { audiences: [apiAudience] });
      assert.equal(outcome.outcome, "authenticated");
      const { protectedHeader } = await compactVerify(token, await importJWK(test.key.jwk, algorithm));
      assert.deepEqual(protectedHeader, { alg: algorithm, kid: test.key.kid });
    });
  }

  it("carries upstream's claims", () => {
    const test = scene();
    const pod = { name: "web-0", uid: "pod-uid" };
    const node = { name: "node-1", uid: "node-uid" };
    const token = test.issue(
      { ...bob, pod, node },
      { audiences: ["a", "a"], lifetimeSeconds: 600, warnAfterSeconds: 60 },
    );
    const now = test.clock.now() / 1000;
    const { jti, ...claims } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
    assert.match(jti, /^[0-9a-f-]{36}$/);
    assert.deepEqual(claims, {
      aud: ["a", "a"],
      exp: now + 600,
      iat: now,
      nbf: now,
      iss: issuer,
      sub: "system:serviceaccount:ns:bob",
      "platform.io": { namespace: "ns", serviceaccount: bob.serviceAccount, pod, node, warnafter: now + 60 },
    });
  });

  it("without an id has none in its user", () => {
    const { verify, clock, pem, key } = scene();
    const { jti: _id, ...payload } = goodClaims(clock.now());
    const answer = verify(forge(pem, { header: { alg: "ES256", kid: key.kid }, payload }), {
      audiences: [apiAudience],
    });
    assert.ok(answer.outcome === "authenticated");
    assert.deepEqual(answer.user.extra, {});
  });

  it("names its key by the SHA-256 of the SubjectPublicKeyInfo", () => {
    const test = scene();
    const spki = createPublicKey(test.pem).export({ type: "spki", format: "der" });
    assert.equal(test.key.kid, createHash("sha256").update(spki).digest("base64url"));
  });

  it("makes the account's user, with the token and the bound objects as extra", () => {
    const test = scene();
    test.objects.pods.set("ns/web-0", { uid: "pod-uid", serviceAccountName: "bob" });
    const bound = { pod: { name: "web-0", uid: "pod-uid" }, node: { name: "node-1", uid: "node-uid" } };
    const token = test.issue({ ...bob, ...bound }, hour);
    const outcome = test.verify(token, { audiences: [apiAudience] });
    assert.ok(outcome.outcome === "authenticated");
    const { extra, ...user } = outcome.user;
    assert.deepEqual(user, {
      username: "system:serviceaccount:ns:bob",
      uid: "bob-uid",
      groups: ["system:serviceaccounts", "system:serviceaccounts:ns"],
    });
    const { "authentication.platform.io/credential-id": id, ...objects } = extra;
    assert.match(id?.[0] ?? "", /^JTI=/);
    assert.deepEqual(objects, {
      "authentication.platform.io/pod-name": ["web-0"],
      "authentication.platform.io/pod-uid": ["pod-uid"],
      "authentication.platform.io/node-name": ["node-1"],
      "authentication.platform.io/node-uid": ["node-uid"],
    });
  });
});

describe("audiences", () => {
  it("are returned in the order of the request", () => {
    const test = scene();
    const token = test.issue(bob, { ...hour, audiences: ["a", "b", "c"] });
    const outcome = test.verify(token, { audiences: ["c", "x", "a"] });
    assert.ok(outcome.outcome === "authenticated");
    assert.deepEqual(outcome.audiences, ["c", "a"]);
  });

  it("lead to a refusal with both lists, as Go quotes them, when they have none in common", () => {
    const test = scene();
    const token = test.issue(bob, { ...hour, audiences: ["a", 'q"'] });
    assert.deepEqual(test.verify(token, { audiences: ["b\u202e", ""] }), {
      outcome: "refused",
      message: 'token audiences ["a" "q\\""] is invalid for the target audiences ["b\\u202e" ""]',
    });
  });

  it("are the API audiences for a token without audiences", () => {
    const test = scene();
    const payload = { ...goodClaims(test.clock.now()), aud: undefined };
    const token = forge(test.pem, { header: { alg: "ES256" }, payload });
    assert.equal(test.verify(token, { audiences: [apiAudience] }).outcome, "authenticated");
    assert.equal(test.verify(token, { audiences: ["vault"] }).outcome, "refused");
  });

  it("are checked again for each request with a cached token", () => {
    const test = scene();
    const token = test.issue(bob, hour);
    assert.equal(test.verify(token, { audiences: [apiAudience] }).outcome, "authenticated");
    assert.equal(test.verify(token, { audiences: ["vault"] }).outcome, "refused");
  });
});

describe("the times of a token", () => {
  it("expire it a minute after its exp, even when it is cached", () => {
    const test = scene();
    const token = test.issue(bob, { ...hour, lifetimeSeconds: 600 });
    test.clock.passSeconds(660);
    assert.equal(test.verify(token, { audiences: [apiAudience] }).outcome, "authenticated");
    test.clock.passSeconds(1);
    assert.deepEqual(test.verify(token, { audiences: [apiAudience] }), {
      outcome: "refused",
      message: "service account token has expired",
    });
  });

  it("may be up to a minute in the future", () => {
    const test = scene();
    const token = (nowSeconds: number, bent: object): string =>
      forge(test.pem, { header: { alg: "ES256" }, payload: { ...goodClaims(nowSeconds * 1000), ...bent } });
    const now = test.clock.now() / 1000;
    assert.equal(
      test.verify(token(now, { nbf: now + 60, iat: now + 60 }), { audiences: [apiAudience] }).outcome,
      "authenticated",
    );
    for (const future of [{ nbf: now + 61 }, { nbf: now + 61, iat: now + 61 }, { nbf: now + 61, exp: now - 61 }]) {
      assert.deepEqual(test.verify(token(now, future), { audiences: [apiAudience] }), {
        outcome: "refused",
        message: "service account token is not valid yet",
      });
    }
    assert.deepEqual(test.verify(token(now, { iat: now + 61 }), { audiences: [apiAudience] }), {
      outcome: "refused",
      message: "service account token is issued in the future",
    });
  });
});

describe("the objects that a token is bound to", () => {
  const refusal = (test: ReturnType<typeof scene>, token: string): string => {
    const outcome = test.verify(token, { audiences: [apiAudience] });
    return outcome.outcome === "refused" ? outcome.message : outcome.outcome;
  };

  it("are looked up on every use, even for a cached token", () => {
    const test = scene();
    const token = test.issue(bob, hour);
    assert.equal(refusal(test, token), "authenticated");
    test.objects.serviceAccounts.set("ns/bob", { uid: "new-uid" });
    assert.equal(refusal(test, token), "service account UID (new-uid) does not match claim (bob-uid)");
    test.objects.serviceAccounts.delete("ns/bob");
    assert.equal(refusal(test, token), 'serviceaccounts "bob" not found');
    const deletionTimestamp = new Date(test.clock.now() - 61_000).toISOString();
    test.objects.serviceAccounts.set("ns/bob", { uid: "bob-uid", deletionTimestamp });
    assert.equal(refusal(test, token), "service account ns/bob has been deleted");
    test.objects.serviceAccounts.set("ns/bob", { uid: "bob-uid" });
    assert.equal(refusal(test, token), "authenticated");
  });

  for (const kind of ["secret", "pod", "node"] as const) {
    it(`invalidate the token when the ${kind} is gone, created again, or being deleted for a minute`, () => {
      const test = scene();
      const put = (found: { uid: string; deletionTimestamp?: string }): void => {
        test.objects.secrets.set("ns/x", found);
        test.objects.pods.set("ns/x", { ...found, serviceAccountName: "bob" });
        test.objects.nodes.set("x", found);
      };
      const token = test.issue({ ...bob, [kind]: { name: "x", uid: "x-uid" } }, hour);
      assert.equal(refusal(test, token), "service account token has been invalidated");
      put({ uid: "x-uid" });
      assert.equal(refusal(test, token), "authenticated");
      put({ uid: "y-uid" });
      assert.equal(
        refusal(test, token),
        `${kind} UID (y-uid) does not match service account ${kind} ref claim (x-uid)`,
      );
      const deletionTimestamp = new Date(test.clock.now()).toISOString();
      put({ uid: "x-uid", deletionTimestamp });
      test.clock.passSeconds(60);
      assert.equal(refusal(test, token), "authenticated");
      test.clock.passSeconds(1);
      assert.equal(refusal(test, token), "service account token has been invalidated");
    });
  }

  it("do not include the node of a Pod's token", () => {
    const test = scene();
    test.objects.pods.set("ns/x", { uid: "x-uid", serviceAccountName: "bob" });
    const token = test.issue({ ...bob, pod: { name: "x", uid: "x-uid" }, node: { name: "gone", uid: "u" } }, hour);
    assert.equal(refusal(test, token), "authenticated");
  });
});

describe("issuers and keys", () => {
  it("of another server leave the token to other authenticators", () => {
    const test = scene();
    const payload = { ...goodClaims(test.clock.now()), iss: "https://other.test" };
    assert.equal(
      test.verify(forge(test.pem, { header: { alg: "ES256" }, payload }), { audiences: [apiAudience] }).outcome,
      "notApplicable",
    );
  });

  it("may be several, each with valid tokens; for a token without kid, every key is tried", () => {
    const old = scene();
    const test = scene({ keys: fixedTokenKeys(scene().key, [old.key]), issuers: ["https://new.test", issuer] });
    assert.equal(test.verify(old.issue(bob, hour), { audiences: [apiAudience] }).outcome, "authenticated");
    const token = forge(old.pem, { header: { alg: "ES256" }, payload: goodClaims(test.clock.now()) });
    assert.equal(test.verify(token, { audiences: [apiAudience] }).outcome, "authenticated");
  });

  it("that are retired end their tokens at once, also those whose verification is cached", () => {
    const pem = newKeyPem.ES256();
    let keys = fixedTokenKeys(parseTokenSigningKey(pem));
    const test = scene({ keys: { verification: () => keys.verification() } }, pem);
    const token = test.issue(bob, hour);
    assert.equal(test.verify(token, { audiences: [apiAudience] }).outcome, "authenticated");
    keys = fixedTokenKeys(parseTokenSigningKey(newKeyPem.ES256()));
    assert.equal(test.verify(token, { audiences: [apiAudience] }).outcome, "refused");
  });

  it("that a token names by an unknown kid lead to a refusal", () => {
    const test = scene();
    const token = forge(test.pem, { header: { alg: "ES256", kid: "other" }, payload: goodClaims(test.clock.now()) });
    assert.deepEqual(test.verify(token, { audiences: [apiAudience] }), {
      outcome: "refused",
      message: "invalid signature, no keys found",
    });
  });

  it("are read from one PEM file with private and public keys, each once", () => {
    const [one, other] = [newKeyPem.ES256(), newKeyPem.RS256()];
    const publicPem = createPublicKey(other).export({ type: "spki", format: "pem" });
    const keys = distinctKeys(parseVerificationKeys(`${one}text between\n${publicPem}${one}`));
    assert.deepEqual(
      keys.map((key) => key.kid),
      [parseTokenSigningKey(one).kid, parseTokenSigningKey(other).kid],
    );
  });

  it("that cannot sign or verify tokens are refused, and the error does not quote the key", () => {
    for (const [pem, message] of [
      ["garbage", /contains no PEM private key/],
      ["-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n", /contains no PEM private key/],
    ] as const) {
      assert.throws(() => parseTokenSigningKey(pem), message);
    }
    assert.throws(() => parseVerificationKeys("nothing"), /contains no PEM key/);
  });

  it("that are too weak, or of another type or curve, are refused for signing and for verifying", () => {
    for (const [{ privateKey, publicKey }, message] of [
      [generateKeyPairSync("rsa", { modulusLength: 1024 }), /must have at least 2048 bits, not 1024/],
      [
        generateKeyPairSync("rsa", { modulusLength: 2048, publicExponent: 0x8000_0001 }),
        /must be fit for use: crypto\/rsa: public exponent too large/,
      ],
      [generateKeyPairSync("ec", { namedCurve: "P-224" }), /may not be on curve P-224/],
      [generateKeyPairSync("ed448"), /may not be of this type: use EC, RSA or Ed25519/],
    ] as const) {
      const pem = privateKey.export({ type: "pkcs8", format: "pem" });
      assert.throws(() => parseTokenSigningKey(pem), message);
      assert.throws(() => parseVerificationKeys(publicKey.export({ type: "spki", format: "pem" })), message);
    }
  });
});

describe("a cached token", () => {
  it("is verified again after 10 s", () => {
    const test = scene();
    let verifications = 0;
    const counted = {
      ...test.key,
      verifies: (data: Uint8Array, signature: Uint8Array) => (verifications++, test.key.verifies(data, signature)),
    };
    const counting = scene({ keys: fixedTokenKeys(counted) });
    const token = test.issue(bob, hour);
    const use = (): string => counting.verify(token, { audiences: [apiAudience] }).outcome;
    assert.deepEqual([use(), use()], ["authenticated", "authenticated"]);
    assert.equal(verifications, 1);
    counting.clock.passSeconds(10);
    use();
    assert.equal(verifications, 2);
  });

  it("is never an invalid one", () => {
    const test = scene();
    let verifications = 0;
    const counted = { ...test.key, verifies: () => (verifications++, false) };
    const counting = scene({ keys: fixedTokenKeys(counted) });
    const token = `${encode({ alg: "ES256" })}.${encode(goodClaims(test.clock.now()))}.${"A".repeat(86)}`;
    counting.verify(token, { audiences: [apiAudience] });
    counting.verify(token, { audiences: [apiAudience] });
    assert.equal(verifications, 2);
  });
});

describe("a token with a key that the external signer may have just made", () => {
  it("waits for it, however many forged ones of another address wait, and so does one in a TokenReview", async () => {
    const { clock, key, pem, verify } = scene();
    const fetched = Promise.withResolvers<undefined>();
    const keys = { ...fixedTokenKeys(key), learn: () => fetched.promise };
    const check = learningKeys(verify, { keys, issuers: [issuer] });
    const payload = goodClaims(clock.now());
    const unknown = forge(pem, { header: { alg: "ES256", kid: "unknown" }, payload });
    const forged = Promise.allSettled(
      Array.from({ length: 400 }, async () => check(unknown, checkFor([apiAudience], "192.0.2.1"))),
    );
    const asker = (): SharePath => sharePath({ username: "ann", groups: [], extra: {} });
    const others = [
      check(unknown, checkFor([apiAudience], "192.0.2.2")),
      check(unknown, { audiences: [apiAudience], asker }),
    ];
    const known = check(forge(pem, { header: { alg: "ES256", kid: key.kid }, payload }), checkFor([apiAudience]));
    assert.ok("outcome" in known && known.outcome === "authenticated");
    fetched.resolve(undefined);
    for (const one of others) assert.equal((await one).outcome, "refused");
    const refusals = (await forged).flatMap((one) => (one.status === "rejected" ? [one.reason as ApiError] : []));
    assert.equal(refusals.length, 400 - 61);
    assert.deepEqual([...new Set(refusals.map((error) => [error.code, error.retryAfterSeconds].join()))], ["429,1"]);
  });
});
