import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { aesCbc } from "../../../../src/machinery/storage/encryption/aes-cbc.ts";
import { aesGcm, derivedAesGcm } from "../../../../src/machinery/storage/encryption/aes-gcm.ts";
import { secretbox } from "../../../../src/machinery/storage/encryption/secretbox.ts";
import {
  identity,
  UndecryptableValue,
  writtenWith,
} from "../../../../src/machinery/storage/encryption/value-transformer.ts";
import type { ValueTransformer } from "../../../../src/machinery/storage/encryption/value-transformer.ts";

const key = (bytes: number) => ({ name: "key1", secret: Buffer.alloc(bytes, 7) });
const storageKey = "/registry/secrets/default/web";

interface Case {
  readonly transformer: ValueTransformer;
  readonly provider: string;
  /** Whether the storage key is part of what is authenticated. */
  readonly isBound: boolean;
  readonly isAuthenticated: boolean;
}

const cases: readonly Case[] = [
  ...[16, 24, 32].map((bytes) => ({
    transformer: aesGcm(key(bytes)),
    provider: "aesgcm:v1:key1",
    isBound: true,
    isAuthenticated: true,
  })),
  { transformer: derivedAesGcm(key(32)), provider: "aesgcmderived:v1:key1", isBound: true, isAuthenticated: true },
  { transformer: secretbox(key(32)), provider: "secretbox:v1:key1", isBound: false, isAuthenticated: true },
  ...[16, 24, 32].map((bytes) => ({
    transformer: aesCbc(key(bytes)),
    provider: "aescbc:v1:key1",
    isBound: false,
    isAuthenticated: false,
  })),
];

for (const [index, { transformer, provider, isBound, isAuthenticated }] of cases.entries()) {
  const encrypt = (plain: Buffer): Buffer => transformer.encrypt(plain, storageKey) as Buffer; // of these, none is a promise
  const decrypt = (stored: Buffer, where = storageKey): Buffer =>
    (transformer.decrypt(stored, where) as { plain: Buffer }).plain;

  describe(`${provider} (${index + 1})`, () => {
    it("decrypts what it encrypted, and never encrypts a value to the same bytes twice", () => {
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
          const plain = Buffer.from(bytes);
          const stored = encrypt(plain);
          assert.deepEqual(decrypt(stored), plain);
          assert.equal(writtenWith(stored), provider);
          assert.notDeepEqual(encrypt(plain), stored);
        }),
        { numRuns: 30 },
      );
    });

    it("refuses a value that was cut anywhere, with one type of error", () => {
      const stored = encrypt(Buffer.from("a secret that is longer than a block"));
      const start = transformer.prefix.length;
      for (let length = start; length < stored.length; length += 1) {
        // What is left of a whole number of blocks may look like padding.
        if (!isAuthenticated && length >= start + 32 && (length - start) % 16 === 0) continue;
        assert.throws(() => decrypt(stored.subarray(0, length)), UndecryptableValue);
      }
    });

    if (isAuthenticated) {
      it("refuses a value that was changed in any byte", () => {
        const stored = encrypt(Buffer.from("secret"));
        for (let at = transformer.prefix.length; at < stored.length; at += 1) {
          const changed = Buffer.from(stored);
          changed[at] = (changed[at] ?? 0) ^ 1;
          assert.throws(() => decrypt(changed), UndecryptableValue, `byte ${at}`);
        }
      });
    }

    it(
      isBound ? "refuses a value that was moved to another key" : "can't see that a value was moved, as upstream's",
      () => {
        const stored = encrypt(Buffer.from("secret"));
        if (isBound) assert.throws(() => decrypt(stored, "/registry/secrets/default/other"), /moved/);
        else assert.equal(decrypt(stored, "/registry/secrets/default/other").toString(), "secret");
      },
    );
  });
}

describe("the stored forms", () => {
  // tools: Go 1.26, crypto/aes and crypto/cipher; the key is 32 times 0x07, the text is "from Go".
  const vectors: readonly (readonly [typeof aesGcm, string])[] = [
    [aesGcm, "RE9GIaLbzBsTV9hrMsXk32NjXjN6BngKA4q894Nzm7NRQOI="],
    [aesCbc, "uzXZRBXr6lMSirgxg0kyf68jtO+eMbFAD4zwTBINcjs="],
    [derivedAesGcm, "Z5rFr1Kp7Y5zBiJR17/8E+Pn2F4P0fwenlNF+cFrVi1mwN4HmBEMCTIaeMr4pxXujk9T2GNzU1Q31etXvIYugoPGKA=="],
  ];
  const storedAs = (make: typeof aesGcm, base64: string): Buffer =>
    Buffer.concat([Buffer.from(make(key(32)).prefix), Buffer.from(base64, "base64")]);

  it("are upstream's: values that Go's standard library encrypted in upstream's layout can be read", () => {
    for (const [make, base64] of vectors) {
      const { plain } = make(key(32)).decrypt(storedAs(make, base64), storageKey) as { plain: Buffer };
      assert.equal(plain.toString(), "from Go");
    }
  });

  it("are refused where another key has the name of theirs", () => {
    for (const [make, base64] of vectors) {
      const other = make({ ...key(32), secret: Buffer.alloc(32, 8) });
      assert.throws(() => other.decrypt(storedAs(make, base64), storageKey), UndecryptableValue);
    }
  });

  it("are NaCl's for secretbox: the published example can be read", () => {
    const secret = Buffer.from("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389", "hex");
    const sealed = Buffer.from(
      "69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37" +
        "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186a" +
        "c0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae" +
        "90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74" +
        "e355a5",
      "hex",
    );
    const transformer = secretbox({ name: "key1", secret });
    const { plain } = transformer.decrypt(Buffer.concat([Buffer.from(transformer.prefix), sealed]), storageKey) as {
      plain: Buffer;
    };
    assert.match(plain.toString("hex"), /^be075fc53c81f2d5cf141316ebeb0c7b.*645e0705$/);
  });

  it("are never mistaken for plain values", () => {
    for (const { transformer } of cases) {
      const stored = transformer.encrypt(Buffer.from("{}"), storageKey) as Buffer;
      assert.throws(() => identity.decrypt(stored, storageKey), /which this server does not have/);
    }
    assert.deepEqual(identity.decrypt(Buffer.from("{}"), storageKey), { plain: Buffer.from("{}"), isStale: false });
  });
});
