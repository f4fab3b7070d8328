import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { presentedCredential } from "../../../../src/machinery/authentication/presented-credential.ts";
import { checkFor, TestClock } from "../../accounts/tokens/token-scene.ts";
import { TestIssuer } from "../issuer-scene.ts";
import { api, entry, clock, issuer, ready, tokenOf, messageOf, disposable } from "./issuers-under-test.ts";

describe("a token of an OpenID Connect issuer", () => {
  it("authenticates its user, with prefixes, groups and the token's id", async () => {
    using issuers = disposable(await ready());
    const answer = await issuers.verify(await tokenOf({ groups: ["dev"], jti: "t-1" }), checkFor(api));
    assert.deepEqual(answer, {
      outcome: "authenticated",
      audiences: api,
      user: {
        username: "corp:ada",
        groups: ["corp:dev"],
        extra: { "authentication.platform.io/credential-id": ["JTI=t-1"] },
      },
    });
  });

  it("gives its user the uid of a claim or of an expression, and none without text", async () => {
    const uid = async (mapping: object, claims: object): Promise<string | undefined> => {
      const claimMappings = { username: { expression: "claims.sub" }, uid: mapping };
      using issuers = disposable(await ready({ jwt: [entry(issuer.url, { claimMappings })] }));
      const answer = await issuers.verify(await tokenOf(claims), checkFor(api));
      assert.ok(answer.outcome === "authenticated");
      return answer.user.uid;
    };
    assert.equal(await uid({ claim: "oid" }, { oid: "o-1" }), "o-1");
    assert.equal(await uid({ expression: "claims.sub" }, {}), "ada");
    assert.equal(await uid({ claim: "oid" }, { oid: "" }), undefined);
  });

  it("gives its user what expressions say of it, but for empty texts and lists, and the token's id only where it has one", async () => {
    const extra = ["list", "none", "blank"].map((claim) => ({
      key: `example.com/${claim}`,
      valueExpression: `claims.${claim}`,
    }));
    const claimMappings = {
      username: { expression: "claims.sub" },
      groups: { expression: "claims.groups" },
      extra,
    };
    using issuers = disposable(await ready({ jwt: [entry(issuer.url, { claimMappings })] }));
    const claims = { groups: ["dev", ""], list: ["a", "", "b"], none: [], blank: "" };
    const answer = await issuers.verify(await tokenOf(claims), checkFor(api));
    assert.ok(answer.outcome === "authenticated");
    assert.deepEqual(answer.user.groups, ["dev"]);
    assert.deepEqual(answer.user.extra, { "example.com/list": ["a", "b"] });
  });

  it("may keep claims elsewhere that its user is not made of", async () => {
    using issuers = disposable(await ready());
    const claims = { _claim_names: { address: "a" }, _claim_sources: { a: { endpoint: "https://claims.example/" } } };
    const answer = await issuers.verify(await tokenOf(claims), checkFor(api));
    assert.ok(answer.outcome === "authenticated");
    assert.deepEqual(answer.user.groups, []);
  });

  it("is known by its id and its time, by which it can be revoked", async () => {
    using issuers = disposable(await ready());
    const known = async (claims: object): Promise<unknown> => {
      const answer = await issuers.verify(await tokenOf(claims), checkFor(api));
      return answer.outcome === "authenticated" && presentedCredential(answer.user);
    };
    for (const iat of [7, "7", 7.5]) {
      assert.deepEqual(await known({ jti: "t-1", iat }), { type: "token", id: "t-1", issuedAtSeconds: 7 });
    }
    const unknown = { type: "token", id: undefined, issuedAtSeconds: undefined };
    for (const claims of [{}, { jti: "" }, { jti: 1 }]) assert.deepEqual(await known(claims), unknown);
  });

  it("is for this server when one of its audiences is one of the entry's", async () => {
    const audiences = { url: issuer.url, audiences: ["signet", "other"], audienceMatchPolicy: "MatchAny" };
    using issuers = disposable(await ready({ jwt: [entry(issuer.url, { issuer: audiences })] }));
    const answer = async (aud: unknown): Promise<string> =>
      messageOf(await issuers.verify(await tokenOf({ aud }), checkFor(api)));
    for (const aud of ["signet", "other", ["vault", "other"]]) assert.equal(await answer(aud), "authenticated");
    for (const aud of ["vault", ["vault"], "sign", { signet: true }]) {
      assert.match(await answer(aud), /expected audience in \["signet" "other"\]/);
    }
  });

  it("may have its registered claims in each form that go-oidc reads", async () => {
    using issuers = disposable(await ready());
    const forms = [
      { iat: 1_600_000_000.25 },
      { iat: "1600000000" },
      { nonce: null, at_hash: null },
      { aud: [null, "signet"] },
    ];
    for (const claims of forms) {
      assert.equal(
        messageOf(await issuers.verify(await tokenOf(claims), checkFor(api))),
        "authenticated",
        JSON.stringify(claims),
      );
    }
  });

  it("is refused when an expression gives something else than a text, or a list of texts", async () => {
    const answer = async (claimMappings: object): Promise<string> => {
      using issuers = disposable(await ready({ jwt: [entry(issuer.url, { claimMappings })] }));
      return messageOf(await issuers.verify(await tokenOf({ list: ["a"], number: 1, texts: ["b", 2] }), checkFor(api)));
    };
    const username = { expression: "claims.sub" };
    assert.match(await answer({ username: { expression: "claims.list" } }), /username.* must return a string$/);
    assert.match(await answer({ username, uid: { expression: "claims.list" } }), /uid.* must return a string$/);
    assert.match(await answer({ username, uid: { claim: "list" } }), /parse uid claims "list": it is not a string$/);
    assert.match(await answer({ username, uid: { claim: "none" } }), /parse uid claims "none": claim not present$/);
    for (const expression of ["claims.number", "claims.texts"]) {
      assert.match(await answer({ username, groups: { expression } }), /must return a string or a list of strings$/);
      const extra = [{ key: "example.com/a", valueExpression: expression }];
      assert.match(await answer({ username, extra }), /must return a string or a list of strings$/);
    }
    const extra = [{ key: "example.com/a", valueExpression: "claims.list" }];
    assert.equal(await answer({ username, uid: { expression: "claims.sub" }, extra }), "authenticated");
  });

  it("may say null of its groups, and has none then", async () => {
    const username = { claim: "sub", prefix: "corp:" };
    for (const groups of [{ claim: "groups", prefix: "corp:" }, { expression: "claims.groups" }]) {
      using issuers = disposable(await ready({ jwt: [entry(issuer.url, { claimMappings: { username, groups } })] }));
      const answer = await issuers.verify(await tokenOf({ groups: null }), checkFor(api));
      assert.ok(answer.outcome === "authenticated");
      assert.deepEqual(answer.user.groups, []);
    }
  });

  it("has text that everybody reads alike: half of a surrogate pair is replaced", async () => {
    using issuers = disposable(await ready());
    const answer = await issuers.verify(await tokenOf({ sub: "a\ud800b", groups: ["\udc00"] }), checkFor(api));
    assert.ok(answer.outcome === "authenticated");
    assert.deepEqual([answer.user.username, answer.user.groups], ["corp:a\ufffdb", ["corp:\ufffd"]]);
  });

  it("has numbers that are all doubles, as in upstream", async () => {
    const username = { expression: "string(claims.number) + (claims.number / 2.0 > 1.5 ? '+' : '-')" };
    using issuers = disposable(await ready({ jwt: [entry(issuer.url, { claimMappings: { username } })] }));
    const nameOf = async (number: number): Promise<string | undefined> => {
      const answer = await issuers.verify(await tokenOf({ number }), checkFor(api));
      return answer.outcome === "authenticated" ? answer.user.username : undefined;
    };
    assert.deepEqual([await nameOf(3), await nameOf(12_345_678)], ["3-", "1.2345678e+07+"]);
  });

  it("is valid for the audiences of this API, and for no others", async () => {
    using issuers = disposable(await ready());
    const token = await tokenOf();
    const both = await issuers.verify(token, checkFor(["vault", ...api]));
    assert.deepEqual(both.outcome === "authenticated" && both.audiences, api);
    assert.equal((await issuers.verify(token, checkFor(["signet"]))).outcome, "notApplicable");
  });

  it("is not applicable when its issuer was not configured, and nothing is fetched for it", async () => {
    using issuers = disposable(await ready());
    const { fetches } = issuer;
    const stranger = new TestIssuer("https://169.254.169.254");
    assert.equal((await issuers.verify(await stranger.sign({}, clock.now()), checkFor(api))).outcome, "notApplicable");
    assert.equal(issuer.fetches, fetches);
  });

  const bad: Readonly<Record<string, readonly [claims: object, fault: RegExp]>> = {
    "for another audience": [{ aud: "vault" }, /expected audience in \["signet"\]/],
    "of no audience": [{ aud: [] }, /expected audience/],
    "that has ended": [{ exp: 1_700_000_000 }, /token is expired/],
    "that ends now": [{ exp: new TestClock().now() / 1000 }, /token is expired/],
    "whose end is a text that is no number": [{ exp: "0x7fffffff" }, /cannot unmarshal string into .*idToken.exp/],
    "whose end is null": [{ exp: null }, /cannot unmarshal null into .*idToken.exp/],
    "whose end is a text in the past": [{ exp: "1700000000" }, /token is expired/],
    "whose beginning is no number": [{ nbf: true }, /cannot unmarshal bool into .*idToken.nbf/],
    "whose beginning is a text in the future": [{ nbf: "4e9" }, /before the nbf/],
    "that never ends": [{ exp: undefined }, /token is expired/],
    "that has not begun": [{ nbf: 4_000_000_000 }, /before the nbf/],
    "without a name": [{ sub: undefined }, /parse username claims "sub": claim not present/],
    "with an empty name": [{ sub: "" }, /username is empty/],
    "whose name is no text": [
      { sub: ["ada"] },
      /cannot unmarshal array into Go struct field idToken.sub of type string/,
    ],
    "with a nonce that is no text": [{ nonce: 5 }, /cannot unmarshal number into Go struct field idToken.nonce/],
    "with the hash of an access token that is no text": [{ at_hash: {} }, /cannot unmarshal object into .*at_hash/],
    "with an audience that is no text": [{ aud: ["signet", 1] }, /cannot unmarshal number into .*idToken.aud/],
    "with a time of issue that is no number": [{ iat: "now" }, /cannot unmarshal string into .*idToken.iat/],
    "whose claims are nested very deep": [
      { deep: JSON.parse(`${"[".repeat(200)}${"]".repeat(200)}`) as unknown },
      /nested deeper than 100/,
    ],
    "with groups that are no texts": [{ groups: [1] }, /neither a string nor a list of strings/],
    "whose groups are kept elsewhere": [
      { _claim_names: { groups: "a" }, _claim_sources: { a: { endpoint: "https://169.254.169.254/" } } },
      /distributed claims are not followed/,
    ],
    "whose claims are kept elsewhere, nobody knows where": [
      { _claim_names: { address: "a" }, _claim_sources: {} },
      /source does not exist/,
    ],
    "whose claims are kept at no name": [{ _claim_names: { address: null } }, /failed to obtain source/],
    "whose names of sources are no texts": [
      { _claim_names: { address: 1 } },
      /into .*idToken._claim_names of type string/,
    ],
    "whose names of sources are no object": [{ _claim_names: ["a"] }, /into .*idToken._claim_names of type map/],
    "whose sources are no object": [{ _claim_sources: 5 }, /into .*idToken._claim_sources of type map/],
    "with a source that is no object": [{ _claim_sources: { a: 5 } }, /into .*idToken._claim_sources of type oidc/],
    "with a source whose endpoint is no text": [
      { _claim_sources: { a: { endpoint: 5 } } },
      /into .*idToken._claim_sources.endpoint of type string/,
    ],
  };
  for (const [what, [claims, fault]] of Object.entries(bad)) {
    it(`is refused: one ${what}`, async () => {
      using issuers = disposable(await ready());
      const token = await tokenOf(claims);
      const answer = await issuers.verify(token, checkFor(api));
      assert.match(messageOf(answer), fault);
      assert.ok(!messageOf(answer).includes(token));
    });
  }

  it("may have its times as texts, and a beginning of null", async () => {
    using issuers = disposable(await ready());
    for (const claims of [{ exp: "4000000000" }, { exp: "4e9", iat: "1.5", nbf: "0" }, { nbf: null }]) {
      assert.equal(messageOf(await issuers.verify(await tokenOf(claims), checkFor(api))), "authenticated");
    }
  });

  it("is refused when its end is larger than any number: it would never end", async () => {
    using issuers = disposable(await ready());
    const claims = { iss: issuer.url, aud: "signet", sub: "ada", exp: 0 };
    const token = await issuer.signText(JSON.stringify(claims).replace('"exp":0', '"exp":1e400'));
    assert.match(messageOf(await issuers.verify(token, checkFor(api))), /cannot unmarshal number into .*idToken.exp/);
  });

  it("is refused when it is signed by another key of the same name, or by no key", async () => {
    using issuers = disposable(await ready());
    const forger = new TestIssuer(issuer.url);
    assert.match(
      messageOf(await issuers.verify(await forger.sign({}, clock.now()), checkFor(api))),
      /failed to verify/,
    );
    const [header = "", payload = ""] = (await tokenOf()).split(".");
    const none = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${payload}.`;
    for (const forged of [none, `${header}.${payload}.`, `${header}.${payload}.AAAA`]) {
      assert.match(messageOf(await issuers.verify(forged, checkFor(api))), /failed to verify/);
    }
  });

  it("is not read when a claim is in it twice: programs differ in which of the two counts", async () => {
    using issuers = disposable(await ready());
    const claims = Buffer.from((await tokenOf()).split(".")[1] ?? "", "base64url").toString();
    for (const claim of ['"sub":"eve"', '"groups":["admins"],"groups":[]', '"a":{"b":1},"a":{"c":2}']) {
      const token = await issuer.signText(`${claims.slice(0, -1)},${claim}}`);
      assert.equal(messageOf(await issuers.verify(token, checkFor(api))), "notApplicable", claim);
    }
    assert.equal(messageOf(await issuers.verify(await issuer.signText(claims), checkFor(api))), "authenticated");
  });

  it("is refused as soon as it has expired, though its signature is cached", async () => {
    using issuers = disposable(await ready());
    const token = await issuer.sign({ exp: Math.floor(clock.now() / 1000) + 2 }, clock.now());
    assert.equal((await issuers.verify(token, checkFor(api))).outcome, "authenticated");
    clock.passSeconds(2);
    assert.match(messageOf(await issuers.verify(token, checkFor(api))), /expired/);
  });

  it("may begin a minute from now: clocks differ", async () => {
    using issuers = disposable(await ready());
    const seconds = clock.now() / 1000;
    assert.equal(messageOf(await issuers.verify(await tokenOf({ nbf: seconds + 60 }), checkFor(api))), "authenticated");
    assert.match(
      messageOf(await issuers.verify(await tokenOf({ nbf: seconds + 61 }), checkFor(api))),
      /before the nbf/,
    );
  });

  it("may name a reserved user or group only where the operator's prefix does", async () => {
    const named = async (prefix: string, claims: object): Promise<string> => {
      const claimMappings = { username: { claim: "sub", prefix }, groups: { claim: "groups", prefix } };
      using issuers = disposable(await ready({ jwt: [entry(issuer.url, { claimMappings })] }));
      const answer = await issuers.verify(await tokenOf(claims), checkFor(api));
      if (answer.outcome !== "authenticated") return messageOf(answer);
      return [answer.user.username, ...answer.user.groups].join();
    };
    assert.equal(await named("system:corp:", { groups: ["dev"] }), "system:corp:ada,system:corp:dev");
    assert.match(await named("sys", { sub: "tem:admin" }), /reserved/);
    assert.match(await named("", { sub: "ada", groups: ["system:x"] }), /reserved/);
    assert.equal(await named("x", { sub: "system:admin" }), "xsystem:admin");
    assert.match(await named("not system:", { sub: "system:admin" }), /^not system:system:admin$/);
  });

  it("never names a reserved user or group by a claim alone", async () => {
    const unprefixed = { username: { claim: "sub", prefix: "" }, groups: { claim: "groups", prefix: "" } };
    using issuers = disposable(await ready({ jwt: [entry(issuer.url, { claimMappings: unprefixed })] }));
    for (const claims of [{ sub: "system:admin" }, { groups: ["system:masters"] }, { groups: "system:masters" }]) {
      assert.match(messageOf(await issuers.verify(await tokenOf(claims), checkFor(api))), /reserved/);
    }
  });

  it("must satisfy the rules on claims and users, and is refused with the operator's message", async () => {
    const rules = {
      claimValidationRules: [
        { claim: "hd", requiredValue: "example.com" },
        { expression: "claims.level > 2.5 && claims.exp + 1.0 > claims.exp", message: "level 3 is needed" },
      ],
      userValidationRules: [{ expression: "user.groups.exists(g, g == 'corp:dev')", message: "developers only" }],
    };
    using issuers = disposable(await ready({ jwt: [entry(issuer.url, rules)] }));
    const answer = async (claims: object): Promise<string> =>
      messageOf(await issuers.verify(await tokenOf(claims), checkFor(api)));
    assert.match(await answer({}), /required claim hd not present/);
    assert.match(await answer({ hd: "evil.example" }), /required claim hd value does not match$/);
    assert.match(await answer({ hd: "example.com" }), /no such key: level/);
    assert.match(await answer({ hd: "example.com", level: 1 }), /failed: level 3 is needed/);
    assert.match(await answer({ hd: "example.com", level: 3 }), /failed: developers only/);
    assert.equal(await answer({ hd: "example.com", level: 3, groups: ["dev"] }), "authenticated");
  });

  it("whose email is the user name must not say that the email is unverified", async () => {
    const byMail = { username: { claim: "email", prefix: "" } };
    using issuers = disposable(await ready({ jwt: [entry(issuer.url, { claimMappings: byMail })] }));
    const answer = async (claims: object): Promise<string> =>
      messageOf(await issuers.verify(await tokenOf(claims), checkFor(api)));
    assert.equal(await answer({ email: "a@example.com" }), "authenticated");
    assert.equal(await answer({ email: "a@example.com", email_verified: true }), "authenticated");
    assert.match(await answer({ email: "a@example.com", email_verified: false }), /email not verified/);
    assert.match(await answer({ email: "a@example.com", email_verified: "true" }), /email not verified/);
    using byName = disposable(await ready());
    const token = await tokenOf({ email: "a@example.com", email_verified: false });
    assert.equal((await byName.verify(token, checkFor(api))).outcome, "authenticated");
  });
});
