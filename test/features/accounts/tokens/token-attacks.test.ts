import assert from "node:assert/strict";
import { createHmac, createPublicKey } from "node:crypto";
import { describe, it } from "node:test";
import fc from "fast-check";
import { parseTokenSigningKey } from "../../../../src/features/accounts/tokens/token-key.ts";
import {
  apiAudience,
  bob,
  encode,
  fixedTokenKeys,
  forge,
  goodClaims,
  newKeyPem,
  scene,
  signedTexts,
} from "./token-scene.ts";
import type { Scene } from "./token-scene.ts";

const header = (test: Scene): Record<string, unknown> => ({ alg: "ES256", kid: test.key.kid });
const outcomeOf = (test: Scene, token: string): string => test.verify(token, { audiences: [apiAudience] }).outcome;

describe("a forged token", () => {
  it("is accepted only as the control: the same payload under the right key and header", () => {
    const test = scene();
    const token = forge(test.pem, { header: header(test), payload: goodClaims(test.clock.now()) });
    assert.equal(outcomeOf(test, token), "authenticated");
  });

  it("with alg none is refused, with and without a signature", () => {
    const test = scene();
    for (const alg of ["none", "None", ""]) {
      const signedPart = `${encode({ alg, kid: test.key.kid })}.${encode(goodClaims(test.clock.now()))}`;
      assert.notEqual(outcomeOf(test, `${signedPart}.`), "authenticated");
      assert.notEqual(outcomeOf(test, `${signedPart}.AAAA`), "authenticated");
    }
  });

  it("with an HMAC under the public key is refused, with and without a kid", () => {
    const test = scene();
    const publicKey = createPublicKey(test.pem);
    const secrets = [
      publicKey.export({ type: "spki", format: "pem" }),
      publicKey.export({ type: "spki", format: "der" }),
      JSON.stringify(publicKey.export({ format: "jwk" })),
    ];
    for (const kid of [test.key.kid, undefined]) {
      for (const secret of secrets) {
        const signedPart = `${encode({ alg: "HS256", kid })}.${encode(goodClaims(test.clock.now()))}`;
        const mac = createHmac("sha256", secret).update(signedPart).digest("base64url");
        assert.notEqual(outcomeOf(test, `${signedPart}.${mac}`), "authenticated");
      }
    }
  });

  it("by another key is refused, under the right kid, its own and none", () => {
    const test = scene();
    const other = scene();
    for (const kid of [test.key.kid, other.key.kid, undefined]) {
      const token = forge(other.pem, { header: { alg: "ES256", kid }, payload: goodClaims(test.clock.now()) });
      assert.equal(outcomeOf(test, token), "refused");
    }
  });

  it("that brings its own key in the header is refused", () => {
    const test = scene();
    const other = scene();
    const token = forge(other.pem, {
      header: { alg: "ES256", jwk: createPublicKey(other.pem).export({ format: "jwk" }), jku: "https://evil.test" },
      payload: goodClaims(test.clock.now()),
    });
    assert.equal(outcomeOf(test, token), "refused");
  });

  it("with crit is refused, empty and full", () => {
    const test = scene();
    for (const crit of [[], ["b64"], ["exp"], "exp", null, {}]) {
      const token = forge(test.pem, { header: { ...header(test), crit }, payload: goodClaims(test.clock.now()) });
      assert.notEqual(outcomeOf(test, token), "authenticated", JSON.stringify(crit));
    }
  });

  it("without exp is refused", () => {
    const test = scene();
    for (const exp of [undefined, null, "4102444800", true]) {
      const token = forge(test.pem, { header: header(test), payload: { ...goodClaims(test.clock.now()), exp } });
      assert.equal(outcomeOf(test, token), "refused", String(exp));
    }
  });

  it("whose audiences are no texts is refused", () => {
    const test = scene();
    for (const aud of [null, 5, {}, [null], [apiAudience, 5]]) {
      const token = forge(test.pem, { header: header(test), payload: { ...goodClaims(test.clock.now()), aud } });
      assert.equal(outcomeOf(test, token), "refused", JSON.stringify(aud));
    }
  });

  it("whose sub does not fit the private claim is refused", () => {
    const test = scene();
    for (const sub of ["system:serviceaccount:ns:eve", "system:serviceaccount:other:bob", "admin", "", undefined]) {
      const token = forge(test.pem, { header: header(test), payload: { ...goodClaims(test.clock.now()), sub } });
      assert.equal(outcomeOf(test, token), "refused", String(sub));
    }
  });

  it("without an account uid in its claim is refused", () => {
    const test = scene();
    for (const uid of [undefined, "", "other-uid"]) {
      const claim = { namespace: "ns", serviceaccount: { name: "bob", uid } };
      const payload = { ...goodClaims(test.clock.now()), "platform.io": claim };
      assert.equal(outcomeOf(test, forge(test.pem, { header: header(test), payload })), "refused", String(uid));
    }
  });

  it("with claims named like object members is refused", () => {
    const test = scene();
    const payload = JSON.parse(
      JSON.stringify(goodClaims(test.clock.now())).replace('"platform.io":', '"__proto__":'),
    ) as unknown;
    assert.equal(outcomeOf(test, forge(test.pem, { header: header(test), payload })), "refused");
  });

  it("with a name twice in its header or its claims is refused, whichever of the two would be good", () => {
    const test = scene();
    const [head, claims] = [header(test), goodClaims(test.clock.now())].map((one) => JSON.stringify(one)) as [
      string,
      string,
    ];
    const twice = (json: string, member: string): string[] => [
      `{${member},${json.slice(1)}`,
      `${json.slice(0, -1)},${member}}`,
    ];
    const headers = [...twice(head, '"alg":"ES256"'), ...twice(head, '"kid":"other"')];
    const payloads = [...twice(claims, '"exp":4102444800'), ...twice(claims, '"platform.io":{}')];
    for (const [one, other] of [...headers.map((text) => [text, claims]), ...payloads.map((text) => [head, text])]) {
      const token = signedTexts(test.pem, { header: one ?? "", payload: other ?? "" });
      assert.notEqual(outcomeOf(test, token), "authenticated", `${one}.${other}`);
    }
    assert.equal(outcomeOf(test, signedTexts(test.pem, { header: head, payload: claims })), "authenticated");
  });

  it("with r or s of zero is refused", () => {
    const test = scene();
    const good = test.issue(bob, { audiences: [apiAudience], lifetimeSeconds: 600 });
    const [head, body, text] = good.split(".") as [string, string, string];
    const signature = Buffer.from(text, "base64url");
    const zero = Buffer.alloc(32);
    for (const bad of [
      Buffer.alloc(64),
      Buffer.concat([zero, signature.subarray(32)]),
      Buffer.concat([signature.subarray(0, 32), zero]),
      Buffer.alloc(64, 0xff),
      Buffer.alloc(0),
      signature.subarray(1),
    ]) {
      assert.equal(outcomeOf(test, `${head}.${body}.${bad.toString("base64url")}`), "refused");
    }
  });

  it("with a DER signature is refused", () => {
    const test = scene();
    const token = forge(test.pem, {
      header: header(test),
      payload: goodClaims(test.clock.now()),
      dsaEncoding: "der",
    });
    assert.equal(outcomeOf(test, token), "refused");
  });
});

describe("another spelling of a good token", () => {
  const test = scene();
  const good = test.issue(bob, { audiences: [apiAudience], lifetimeSeconds: 600 });

  it("is refused with stray bits in the signature", () => {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const last = alphabet.indexOf(good.at(-1) ?? "");
    assert.equal(last % 16, 0, "the last of 86 characters carries two bits");
    for (let stray = 1; stray < 16; stray++) {
      assert.notEqual(outcomeOf(test, good.slice(0, -1) + alphabet[last + stray]), "authenticated");
    }
  });

  it("is refused with a signature of another length, by the keys of every algorithm", async () => {
    const data = Buffer.from("header.payload");
    const zero = Buffer.alloc(1);
    for (const [algorithm, newPem] of Object.entries(newKeyPem)) {
      const key = parseTokenSigningKey(newPem());
      const signature = await key.sign(data);
      assert.ok(key.verifies(data, signature), algorithm);
      const [r, s] = [signature.subarray(0, signature.length / 2), signature.subarray(signature.length / 2)];
      for (const parts of [
        [signature.subarray(1)],
        [signature.subarray(0, -1)],
        [zero, r, s],
        [r, s, zero],
        [zero, r, zero, s],
      ]) {
        assert.ok(!key.verifies(data, Buffer.concat(parts)), algorithm);
      }
    }
  });

  it("is refused with a further character that decoders leave out", () => {
    const of96Octets = scene({}, newKeyPem.ES384());
    const token = of96Octets.issue(bob, { audiences: [apiAudience], lifetimeSeconds: 600 });
    assert.equal(outcomeOf(of96Octets, token), "authenticated");
    assert.notEqual(outcomeOf(of96Octets, `${token}A`), "authenticated");
  });

  it("is refused with white space, padding, the other alphabet or a further part", () => {
    const [head, body, signature] = good.split(".") as [string, string, string];
    for (const token of [
      ` ${good}`,
      `${good} `,
      `${good}\n`,
      `${good}\r\n`,
      `${good}=`,
      `${good}==`,
      `${good}.`,
      `${good}.A`,
      `${head} .${body}.${signature}`,
      `${head}.${body}\n.${signature}`,
      `${head}.${body}.${signature.slice(0, 10)}\n${signature.slice(10)}`,
      `${head}.${body}.${signature.slice(0, 10)} ${signature.slice(10)}`,
      `${head}.${body}`,
      `${head}..${signature}`,
      `.${body}.${signature}`,
      `..`,
      "",
    ]) {
      assert.notEqual(outcomeOf(test, token), "authenticated", JSON.stringify(token.slice(-20)));
    }
  });

  it("is refused whichever one character is changed, left out or doubled", () => {
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.constantFrom("A", "_", "=", " ", "", "xy"), (index, replacement) => {
        const bent = good.slice(0, index) + replacement + good.slice(index + 1);
        return bent === good || outcomeOf(test, bent) !== "authenticated";
      }),
      { numRuns: 500 },
    );
  });

  it("never throws for any text", () => {
    fc.assert(
      fc.property(fc.string(), (text) => test.verify(text, { audiences: [apiAudience] }).outcome !== "authenticated"),
    );
    fc.assert(
      fc.property(fc.json(), fc.json(), fc.base64String(), (head, body, signature) => {
        const part = (json: string): string => Buffer.from(json).toString("base64url");
        return outcomeOf(test, `${part(head)}.${part(body)}.${signature}`) !== "authenticated";
      }),
    );
  });

  it("of more than 64 KiB is refused without decoding, however good it is", () => {
    const tokenWith = (characters: number): string => {
      const aud = [apiAudience, "x".repeat(characters)];
      return forge(test.pem, { header: header(test), payload: { ...goodClaims(test.clock.now()), aud } });
    };
    const characters = Math.floor(((64 * 1024 - tokenWith(0).length) * 3) / 4);
    assert.equal(outcomeOf(test, tokenWith(characters)), "authenticated");
    assert.equal(outcomeOf(test, tokenWith(characters + 3)), "notApplicable");
    assert.equal(outcomeOf(test, `${good}${"A".repeat(1 << 20)}`), "notApplicable");
  });
});

it("a token does not choose between the algorithms of several keys", () => {
  const rsa = scene({}, newKeyPem.RS256());
  const test = scene();
  const both = scene({ keys: fixedTokenKeys(test.key, [rsa.key]) });
  const token = forge(test.pem, {
    header: { alg: "RS256", kid: test.key.kid },
    payload: goodClaims(test.clock.now()),
  });
  assert.equal(outcomeOf(both, token), "refused");
});
