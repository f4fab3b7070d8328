import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { describe, it } from "node:test";
import { checkSignature } from "../../../src/pki/keys/check-signature.ts";
import {
  encodeBitString,
  encodeElement,
  encodeObjectIdentifier,
  encodeSequence,
  encodeSmallInteger,
  encodeUnsignedInteger,
} from "../../../src/pki/der/der-writer.ts";
import { tags } from "../../../src/pki/der/der.ts";
import { publicKeyInfoOf } from "../../../src/pki/keys/keys.ts";
import { oids } from "../../../src/pki/der/object-identifiers.ts";
import { parsePublicKeyInfo } from "../../../src/pki/keys/public-key.ts";
import { parseTokenSigningKey, parseVerificationKeys } from "../../../src/features/accounts/tokens/token-key.ts";
import { forgeableRsaKey, modulusOf, rsaModulus, rsaPublicKeyInfo } from "./rsa-keys.ts";

const weaknessOf = (modulus: bigint, exponent: bigint): string | undefined =>
  parsePublicKeyInfo(rsaPublicKeyInfo(modulus, exponent)).weakness;

const tooSmall = "crypto/rsa: public exponent too small or negative";

describe("the check for weak RSA keys", () => {
  const modulus = rsaModulus(2048);

  it("rejects an exponent that is 1, even, or above 31 bits, as Go does", () => {
    assert.equal(weaknessOf(modulus, 1n), tooSmall);
    for (const exponent of [2n, 4n, 65_536n, 0x7ffffffen]) {
      assert.equal(weaknessOf(modulus, exponent), "crypto/rsa: public exponent is even");
    }
    for (const exponent of [0x80000001n, 0x100000001n]) {
      assert.equal(weaknessOf(modulus, exponent), "crypto/rsa: public exponent too large");
    }
    for (const exponent of [3n, 17n, 65_537n, 0x7fffffffn]) assert.equal(weaknessOf(modulus, exponent), undefined);
  });

  it("rejects a modulus that is even, below 1024 or above 8192 bits", () => {
    assert.equal(weaknessOf(modulus - 1n, 65_537n), "crypto/rsa: public modulus is even");
    assert.match(weaknessOf(rsaModulus(1023), 65_537n) ?? "", /1023-bit keys are insecure/);
    assert.match(weaknessOf(rsaModulus(8193), 65_537n) ?? "", /more than 8192 bits/);
    for (const bits of [1024, 8192]) assert.equal(weaknessOf(rsaModulus(bits), 65_537n), undefined);
  });

  it("does not keep a weak key from being parsed, unlike a number that is not positive", () => {
    assert.throws(() => parsePublicKeyInfo(rsaPublicKeyInfo(modulus, 0n)), /exponent is not a positive number/);
    assert.throws(() => parsePublicKeyInfo(rsaPublicKeyInfo(0n, 3n)), /modulus is not a positive number/);
    assert.throws(() => parsePublicKeyInfo(rsaPublicKeyInfo(modulus, 1n << 63n)), /invalid RSA public exponent/);
    assert.equal(weaknessOf(modulus, (1n << 62n) + 1n), "crypto/rsa: public exponent too large");
    const negative = encodeElement(tags.integer, Buffer.of(0x80, 1));
    const three = encodeSmallInteger(3);
    for (const [first, second, message] of [
      [negative, three, /modulus is not a positive number/],
      [three, negative, /exponent is not a positive number/],
    ] as const) {
      const key = encodeBitString(encodeSequence(first, second));
      const algorithm = encodeSequence(encodeObjectIdentifier(oids.rsaEncryption), encodeElement(tags.null));
      assert.throws(() => parsePublicKeyInfo(encodeSequence(algorithm, key)), message);
    }
  });
});

describe("a public key", () => {
  it("has nothing behind its parts, so that no key has two encodings", () => {
    const more = encodeElement(tags.null);
    const numbers = [encodeUnsignedInteger(Buffer.from("c1", "hex")), encodeSmallInteger(3)];
    const algorithm = encodeSequence(encodeObjectIdentifier(oids.rsaEncryption), encodeElement(tags.null));
    const key = encodeBitString(encodeSequence(...numbers));
    assert.equal(parsePublicKeyInfo(encodeSequence(algorithm, key)).algorithm, "RSA");
    for (const spki of [
      Buffer.concat([encodeSequence(algorithm, key), more]),
      encodeSequence(algorithm, key, more),
      encodeSequence(algorithm, encodeBitString(Buffer.concat([encodeSequence(...numbers), more]))),
      encodeSequence(algorithm, encodeBitString(encodeSequence(...numbers, more))),
    ]) {
      assert.throws(() => parsePublicKeyInfo(spki), /trailing data/);
    }
  });

  it("is a point of its curve whose coordinates are below the field's size, as Go requires", () => {
    const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-521" });
    const spki = publicKey.export({ type: "spki", format: "der" });
    const p = 2n ** 521n - 1n;
    const size = 66;
    assert.equal(parsePublicKeyInfo(spki).weakness, undefined);
    for (const start of [spki.length - 2 * size, spki.length - size]) {
      const same = Buffer.from(spki);
      const value = BigInt(`0x${spki.toString("hex", start, start + size)}`) + p;
      same.write(value.toString(16).padStart(2 * size, "0"), start, "hex");
      assert.throws(() => parsePublicKeyInfo(same), /invalid P521 element encoding/);
    }
  });

  const rsaKey = encodeSequence(encodeUnsignedInteger(Buffer.alloc(256, 0xff)), encodeSmallInteger(65_537));
  const keyInfo = (id: string, parameters: readonly Buffer[], key: Buffer): Buffer =>
    encodeSequence(encodeSequence(encodeObjectIdentifier(id), ...parameters), key);
  const nothing = encodeElement(tags.null);

  for (const [what, spki, message] of [
    [
      "that ends within an octet",
      keyInfo(oids.ed25519, [], encodeBitString(Buffer.alloc(32), 1)),
      /malformed subjectPublicKey/,
    ],
    [
      "of RSA without NULL parameters",
      keyInfo(oids.rsaEncryption, [], encodeBitString(rsaKey)),
      /missing NULL parameters/,
    ],
    [
      "of RSA that is no sequence",
      keyInfo(oids.rsaEncryption, [nothing], encodeBitString(nothing)),
      /invalid RSA public key/,
    ],
    [
      "of Ed25519 with parameters",
      keyInfo(oids.ed25519, [nothing], encodeBitString(Buffer.alloc(32))),
      /illegal parameters/,
    ],
    [
      "of Ed25519 of another size",
      keyInfo(oids.ed25519, [], encodeBitString(Buffer.alloc(33))),
      /wrong Ed25519 public key size/,
    ],
    [
      "of an elliptic curve without its name",
      keyInfo(oids.ecPublicKey, [nothing], encodeBitString(Buffer.alloc(65))),
      /invalid ECDSA parameters/,
    ],
  ] as const) {
    it(`is refused ${what}`, () => {
      assert.throws(() => parsePublicKeyInfo(spki), message);
    });
  }
});

describe("checkSignature", () => {
  const signed = Buffer.from("text");

  it("refuses a key that anyone can sign with, although OpenSSL accepts its signature", () => {
    const publicKey = publicKeyInfoOf(forgeableRsaKey());
    const algorithm = { name: "SHA256-RSA", keyAlgorithm: "RSA", hash: "sha256", isPss: false } as const;
    assert.throws(
      () => checkSignature({ signed, signature: Buffer.alloc(256), algorithm, publicKey, sha1: "refused" }),
      { message: tooSmall },
    );
  });

  it("refuses every signature of an Ed25519 key of low order", () => {
    const spki = (y: string): Buffer => Buffer.from(`302a300506032b6570032100${y}`, "hex");
    const ones = "ff".repeat(30);
    const algorithm = { name: "Ed25519", keyAlgorithm: "Ed25519", hash: null, isPss: false } as const;
    const signature = Buffer.alloc(64);
    signature[0] = 1;
    for (const y of [`01${"00".repeat(31)}`, "00".repeat(32), `ec${ones}7f`, `ed${ones}7f`, `ee${ones}7f`]) {
      const publicKey = parsePublicKeyInfo(spki(y));
      for (let index = 0; index < 50; index++) {
        const text = Buffer.from(String(index));
        assert.throws(
          () => checkSignature({ signed: text, signature, algorithm, publicKey, sha1: "refused" }),
          /verification failure/,
        );
      }
    }
  });
});

describe("a token key", () => {
  const publicPem = (spki: Buffer): string =>
    `-----BEGIN PUBLIC KEY-----\n${spki.toString("base64")}\n-----END PUBLIC KEY-----\n`;

  it("may not be one whose signatures anyone can make, or one that costs too much to check", () => {
    const forgeable = forgeableRsaKey();
    assert.throws(
      () => parseTokenSigningKey(forgeable.export({ type: "pkcs8", format: "pem" })),
      /too small or negative/,
    );
    const modulus = modulusOf(forgeable);
    assert.throws(() => parseVerificationKeys(publicPem(rsaPublicKeyInfo(modulus, 1n))), /too small or negative/);
    assert.throws(() => parseVerificationKeys(publicPem(rsaPublicKeyInfo(modulus, 2n))), /exponent is even/);
    assert.throws(() => parseVerificationKeys(publicPem(rsaPublicKeyInfo(modulus - 1n, 3n))), /even|cannot be read/);
    assert.throws(() => parseVerificationKeys(publicPem(rsaPublicKeyInfo(rsaModulus(8193), 3n))), /8192 bits/);
    assert.throws(() => parseVerificationKeys(publicPem(rsaPublicKeyInfo(rsaModulus(1024), 3n))), /at least 2048 bits/);
    assert.equal(parseVerificationKeys(publicPem(rsaPublicKeyInfo(modulus, 65_537n))).length, 1);
  });

  it("must have a type and curve that tokens are signed with", () => {
    const pem = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" });
    assert.throws(() => parseTokenSigningKey(pem(generateKeyPairSync("ed448").privateKey)), /use EC, RSA or Ed25519/);
    const p224 = generateKeyPairSync("ec", { namedCurve: "secp224r1" }).privateKey;
    assert.throws(() => parseTokenSigningKey(pem(p224)), /curve P-224/);
  });
});
