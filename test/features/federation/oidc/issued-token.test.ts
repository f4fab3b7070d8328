import assert from "node:assert/strict";
import crypto, { constants, createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import type { KeyObject, SigningOptions } from "node:crypto";
import { writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { beforeEach, describe, it } from "node:test";
import { openIssuers } from "../../../../src/features/federation/oidc/open-issuers.ts";
import type { OpenedIssuers } from "../../../../src/features/federation/oidc/open-issuers.ts";
import { FollowedFiles } from "../../../../src/machinery/files/followed/followed-files.ts";
import { presentedCredential } from "../../../../src/machinery/authentication/presented-credential.ts";
import type { TokenOutcome } from "../../../../src/machinery/authentication/token-authentication.ts";
import { checkFor, TestClock } from "../../accounts/tokens/token-scene.ts";
import { request } from "../../access/certificate-scene.ts";
import { sharePath } from "../../../../src/machinery/scheduling/share-path.ts";
import { createCertificateAuthority } from "../../../../src/pki/certificates/certificate-authority.ts";
import { generatePrivateKey } from "../../../../src/pki/keys/keys.ts";
import { encodePem } from "../../../../src/pki/pem.ts";
import { forgeableRsaKey } from "../../../pki/keys/rsa-keys.ts";
import { issuersOptions, keptLog, TestIssuer } from "../issuer-scene.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

const api = ["https://api.test"];
const file = join(temporaryFolder(), "authentication.yaml");

const entry = (url: string, more: object = {}): object => ({
  issuer: { url, audiences: ["signet"] },
  claimMappings: { username: { claim: "sub", prefix: "corp:" }, groups: { claim: "groups", prefix: "corp:" } },
  ...more,
});
const authority = createCertificateAuthority({
  subject: { commonName: "issuer" },
  privateKey: generatePrivateKey("ECDSA P-256"),
  notBefore: Date.now() - 60_000,
  notAfter: Date.now() + 3_600_000,
});
const certificateAuthority = encodePem("CERTIFICATE", authority.certificate.der);
let versions = 0;
/** The size changes with every version, so that two in one tick of the file system's clock differ. */
function writeConfiguration(fields: object): void {
  const configuration = { apiVersion: "apiserver.config.k8s.io/v1", kind: "AuthenticationConfiguration", ...fields };
  writeFileSync(file, `${JSON.stringify(configuration)}${" ".repeat(++versions)}`);
}

let clock: TestClock;
let log: ReturnType<typeof keptLog>;
let issuer: TestIssuer;
let followed: FollowedFiles;
beforeEach(() => {
  clock = new TestClock();
  log = keptLog();
  followed = new FollowedFiles({ log });
  issuer = new TestIssuer("https://login.example.com");
});

function open(fields: object = { jwt: [entry(issuer.url)] }, isAnonymousWanted = true): OpenedIssuers {
  writeConfiguration(fields);
  const pause = async (milliseconds: number): Promise<void> => clock.passSeconds(milliseconds / 1000);
  const options = { clock, log, followed, apiAudiences: api, isAnonymousWanted, pause, fetch: issuer.fetch };
  return openIssuers({ type: "file", file }, issuersOptions(options));
}
function change(fields: object): void {
  writeConfiguration(fields);
  followed.refresh({ isForced: false });
}
/** Lets the fetches in the background end. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
async function ready(fields?: object): Promise<OpenedIssuers> {
  const opened = open(fields);
  await settled();
  return opened;
}
const tokenOf = (claims: object = {}): Promise<string> => issuer.sign({ ...claims }, clock.now());
const messageOf = (answer: TokenOutcome): string => (answer.outcome === "refused" ? answer.message : answer.outcome);

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

interface SignedWith extends SigningOptions {
  readonly algorithm: string;
  readonly digest: string | null;
  /** Changes of the published key. */
  readonly jwk?: object;
  readonly header?: object;
}

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

describe("the keys of an issuer", () => {
  const generate = {
    rsa: (modulusLength: number) => generateKeyPairSync("rsa", { modulusLength }),
    ec: (namedCurve: string) => generateKeyPairSync("ec", { namedCurve }),
    ed25519: () => generateKeyPairSync("ed25519"),
  };
  const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
  /** Publishes a key, and says whether it verifies a token of an algorithm that is signed with it. */
  async function verifiesWith(
    { publicKey, privateKey }: { readonly publicKey: KeyObject; readonly privateKey: KeyObject },
    { jwk = {}, header = {}, ...signed }: SignedWith,
  ): Promise<boolean> {
    const { algorithm, digest, ...how } = signed;
    issuer.keySet = { keys: [null, "no key", { ...publicKey.export({ format: "jwk" }), kid: "k", ...jwk }] };
    using issuers = disposable(await ready());
    const seconds = Math.floor(clock.now() / 1000);
    const claims = { iss: issuer.url, aud: "signet", exp: seconds + 600, sub: "ada" };
    const signedPart = `${encode({ alg: algorithm, kid: "k", ...header })}.${encode(claims)}`;
    const signature = sign(digest, Buffer.from(signedPart), { key: privateKey, dsaEncoding: "ieee-p1363", ...how });
    const token = `${signedPart}.${signature.toString("base64url")}`;
    return (await issuers.verify(token, checkFor(api))).outcome === "authenticated";
  }

  it("verify tokens of the algorithms of their types", async () => {
    const rsa = generate.rsa(2048);
    for (const bits of [256, 384, 512]) {
      const digest = `sha${bits}`;
      assert.ok(await verifiesWith(rsa, { algorithm: `RS${bits}`, digest }), digest);
      assert.ok(await verifiesWith(rsa, { algorithm: `PS${bits}`, digest, ...pss }), digest);
      const curve = bits === 512 ? "P-521" : `P-${bits}`;
      assert.ok(await verifiesWith(generate.ec(curve), { algorithm: `ES${bits}`, digest }), curve);
      assert.ok(!(await verifiesWith(rsa, { algorithm: `RS${bits}`, digest, ...pss })));
    }
    assert.ok(await verifiesWith(generate.ed25519(), { algorithm: "EdDSA", digest: null }));
  });

  it("verify no tokens of another algorithm, for another use, with another name, or with a key that is weak or no secret", async () => {
    const p256 = generate.ec("P-256");
    const good = { algorithm: "ES256", digest: "sha256" };
    for (const jwk of [{}, { use: "sig" }, { key_ops: ["sign", "verify"] }, { alg: "ES256" }, { kid: undefined }]) {
      assert.ok(await verifiesWith(p256, { ...good, jwk }), JSON.stringify(jwk));
    }
    for (const header of [{ kid: undefined }, { kid: "" }]) {
      assert.ok(await verifiesWith(p256, { ...good, header }), JSON.stringify(header));
      assert.ok(!(await verifiesWith(p256, { ...good, header, jwk: { kid: 7 } })), JSON.stringify(header));
    }
    const { d } = p256.privateKey.export({ format: "jwk" });
    const uses = [{ use: "enc" }, { key_ops: ["encrypt"] }, { key_ops: [] }, { key_ops: "verify" }];
    for (const jwk of [...uses, { alg: "ES384" }, { kid: 7 }, { kid: "l" }, { d }]) {
      assert.ok(!(await verifiesWith(p256, { ...good, jwk })), JSON.stringify(Object.keys(jwk)));
    }
    assert.ok(!(await verifiesWith(p256, { algorithm: "ES384", digest: "sha384" })));
    assert.ok(!(await verifiesWith(p256, { ...good, header: { kid: "l" } })));
    assert.ok(!(await verifiesWith(generate.rsa(1024), { algorithm: "RS256", digest: "sha256" })));
    assert.ok(!(await verifiesWith(generate.ec("secp256k1"), { algorithm: "ES256", digest: "sha256" })));
    const privateKey = forgeableRsaKey();
    const forgeable = { privateKey, publicKey: createPublicKey(privateKey) };
    assert.ok(!(await verifiesWith(forgeable, { algorithm: "RS256", digest: "sha256" })));
  });

  it("are tried with a token that does not name one of them, unless there are more than eight of its algorithm", async () => {
    const { publicKey, privateKey } = generate.ec("P-256");
    const jwk = publicKey.export({ format: "jwk" });
    const others = (count: number): object[] =>
      Array.from({ length: count }, (_, index) => ({ ...jwk, kid: `other-${index}` }));
    const answerOf = async (keys: readonly object[], header: object): Promise<string> => {
      issuer.keySet = { keys };
      using issuers = disposable(await ready());
      const claims = { iss: issuer.url, aud: "signet", exp: Math.floor(clock.now() / 1000) + 600, sub: "ada" };
      const signedPart = `${encode({ alg: "ES256", ...header })}.${encode(claims)}`;
      const signature = sign("sha256", Buffer.from(signedPart), { key: privateKey, dsaEncoding: "ieee-p1363" });
      return messageOf(await issuers.verify(`${signedPart}.${signature.toString("base64url")}`, checkFor(api)));
    };
    const ofAnotherAlgorithm = generate.ec("P-384").publicKey.export({ format: "jwk" });
    const tooMany = /more than 8 keys of the issuer may have signed the token: .* name the key \(kid\)/;
    assert.equal(await answerOf([...others(7), ofAnotherAlgorithm, { ...jwk, kid: "k" }], {}), "authenticated");
    assert.match(await answerOf([...others(8), { ...jwk, kid: "k" }], {}), tooMany);
    assert.equal(await answerOf([...others(8), { ...jwk, kid: "k" }], { kid: "k" }), "authenticated");
    assert.match(await answerOf(Array(9).fill(jwk), { kid: "k" }), tooMany);
  });

  for (const [what, keySet, fault] of [
    ["that are no list", { keys: {} }, /its answer is not a JSON Web Key Set/],
    ["of which there are very many", { keys: Array.from({ length: 65 }, () => ({})) }, /it has more than 64 keys/],
    ["of types that sign no tokens", { keys: [{ kty: "oct", k: "c2VjcmV0" }] }, /no key that can verify tokens/],
  ] as const) {
    it(`verify nothing: keys ${what}`, async () => {
      issuer.keySet = keySet;
      using issuers = disposable(await ready());
      assert.notEqual((await issuers.verify(await tokenOf(), checkFor(api))).outcome, "authenticated");
      assert.match(log.lines.join(), fault);
    });
  }
});

describe("the authentication configuration", () => {
  it("is read again when it changes, and issuers that stay keep their keys", async () => {
    using issuers = disposable(await ready());
    const { fetches } = issuer;
    const mappings = { username: { expression: "'new:' + claims.sub" } };
    change({ jwt: [entry(issuer.url, { claimMappings: mappings })] });
    const answer = await issuers.verify(await tokenOf(), checkFor(api));
    assert.equal(answer.outcome === "authenticated" && answer.user.username, "new:ada");
    assert.equal(issuer.fetches, fetches);
    change({ jwt: [] });
    assert.equal((await issuers.verify(await tokenOf(), checkFor(api))).outcome, "notApplicable");
  });

  it("has the keys of an issuer that it adds fetched before its first token", async () => {
    using issuers = disposable(open({ jwt: [] }));
    change({ jwt: [entry(issuer.url)] });
    assert.equal(issuer.fetches, 1);
    await settled();
    assert.ok(!(issuers.verify(await tokenOf(), checkFor(api)) instanceof Promise));
  });

  it("has tokens of an issuer whose source it changes wait for the keys, which are fetched once more", async () => {
    const token = await tokenOf();
    using issuers = disposable(await ready());
    const discoveryURL = "https://intern.example.com/.well-known/openid-configuration";
    change({ jwt: [entry(issuer.url, { issuer: { url: issuer.url, audiences: ["signet"], discoveryURL } })] });
    assert.equal(messageOf(await issuers.verify(token, checkFor(api))), "authenticated");
    assert.equal(issuer.fetches, 4);
  });

  it("has the last keys of an issuer used when its CAs change while it is away, for a day after they came", async () => {
    using issuers = disposable(await ready());
    issuer.isAway = true;
    const token = await issuer.sign({ exp: clock.now() / 1000 + 7 * 86_400 }, clock.now());
    change({ jwt: [entry(issuer.url, { issuer: { url: issuer.url, audiences: ["signet"], certificateAuthority } })] });
    assert.equal(messageOf(await issuers.verify(token, checkFor(api))), "authenticated");
    assert.match(log.lines.join(), /ECONNREFUSED/);
    assert.match(log.lines.join(), /its last keys stay in use for a day at most/);
    issuer.isAway = false;
    issuer.rotate("second");
    clock.passSeconds(10);
    assert.equal(messageOf(await issuers.verify(await tokenOf(), checkFor(api))), "authenticated");
    assert.match(messageOf(await issuers.verify(token, checkFor(api))), /failed to verify/);
    issuer.isAway = true;
    clock.passSeconds(23 * 3600);
    change({ jwt: [entry(issuer.url)] });
    assert.equal(messageOf(await issuers.verify(await tokenOf(), checkFor(api))), "authenticated");
    clock.passSeconds(3600);
    assert.match(messageOf(await issuers.verify(await tokenOf(), checkFor(api))), /not initialized/);
  });

  it("has no tokens accepted by the keys of an issuer that was at another address", async () => {
    const moved = { url: "https://other.example.com", audiences: ["signet"] };
    const elsewhere = { ...moved, url: issuer.url, discoveryURL: "https://intern.example.com/document" };
    for (const next of [moved, elsewhere]) {
      issuer.isAway = false;
      using issuers = disposable(await ready());
      issuer.isAway = true;
      change({ jwt: [entry(next.url, { issuer: next })] });
      assert.match(messageOf(await issuers.verify(await tokenOf({ iss: next.url }), checkFor(api))), /not initialized/);
    }
  });

  it("has the last keys of an issuer used also when its CAs change again before the first attempt has ended", async () => {
    using issuers = disposable(await ready());
    issuer.isAway = true;
    change({ jwt: [entry(issuer.url, { issuer: { url: issuer.url, audiences: ["signet"], certificateAuthority } })] });
    change({ jwt: [entry(issuer.url)] });
    assert.equal(messageOf(await issuers.verify(await tokenOf(), checkFor(api))), "authenticated");
  });

  it("stays in force when the file becomes invalid, which is logged once", async () => {
    using issuers = disposable(await ready());
    change({ jwt: [entry("http://login.example.com")] });
    for (let times = 0; times < 3; times++) {
      followed.refresh({ isForced: false });
      assert.equal((await issuers.verify(await tokenOf(), checkFor(api))).outcome, "authenticated");
    }
    const told = log.lines.filter((line) => line.includes("its last good contents stay in use"));
    assert.equal(told.length, 1);
    assert.match(told[0] ?? "", /jwt\[0\]\.issuer\.url.*https/);
  });

  it("decides where requests may be anonymous", async () => {
    using issuers = disposable(await ready({ anonymous: { enabled: true, conditions: [{ path: "/livez" }] } }));
    const may = (path: string): boolean => issuers.mayBeAnonymous({ ...request(), path });
    assert.deepEqual(["/livez", "/livez/", "/livez/ping", "/api"].map(may), [true, false, false, false]);
    change({ anonymous: { enabled: false } });
    assert.equal(may("/livez"), false);
    change({ anonymous: { enabled: true } });
    assert.equal(may("/api"), true);
    change({});
    assert.equal(may("/api"), true);
  });

  it("and --anonymous-auth=false exclude each other", () =>
    assert.throws(() => open({ anonymous: { enabled: true } }, false), /--anonymous-auth is set too/));
});

/** Closes what a test opened. */
const disposable = (issuers: OpenedIssuers): OpenedIssuers & Disposable => ({
  ...issuers,
  [Symbol.dispose]: () => issuers.close(),
});
