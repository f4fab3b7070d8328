import assert from "node:assert/strict";
import { constants, createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import type { KeyObject, SigningOptions } from "node:crypto";
import { describe, it } from "node:test";
import { checkFor } from "../../accounts/tokens/token-scene.ts";
import { forgeableRsaKey } from "../../../pki/keys/rsa-keys.ts";
import { api, clock, log, issuer, ready, tokenOf, messageOf, disposable } from "./issuers-under-test.ts";

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

interface SignedWith extends SigningOptions {
  readonly algorithm: string;
  readonly digest: string | null;
  /** Changes of the published key. */
  readonly jwk?: object;
  readonly header?: object;
}

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
