import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseAlgorithmIdentifier } from "../../../src/pki/der/algorithm-identifier.ts";
import {
  encodeElement,
  encodeObjectIdentifier,
  encodeSequence,
  encodeSmallInteger,
} from "../../../src/pki/der/der-writer.ts";
import { tags } from "../../../src/pki/der/der.ts";
import { oids } from "../../../src/pki/der/object-identifiers.ts";
import { signatureAlgorithmOf } from "../../../src/pki/keys/signature-algorithm.ts";

const nothing = encodeElement(tags.null);
const algorithm = (id: string, ...parameters: readonly Buffer[]): Buffer =>
  encodeSequence(encodeObjectIdentifier(id), ...parameters);
const nameOf = (id: string, ...parameters: readonly Buffer[]): string | undefined =>
  signatureAlgorithmOf(parseAlgorithmIdentifier(Buffer.concat([encodeObjectIdentifier(id), ...parameters])))?.name;

describe("the algorithm of a signature", () => {
  it("is Ed25519 without parameters alone (RFC 8410 section 3)", () => {
    assert.equal(nameOf(oids.ed25519), "Ed25519");
    assert.equal(nameOf(oids.ed25519, nothing), undefined);
  });

  it("is RSASSA-PSS with one hash, a salt as long as it and the usual trailer, as in Go", () => {
    const sha256 = algorithm(oids.sha256, nothing);
    const mgf1: string = oids.mgf1;
    const good = { hash: sha256, maskId: mgf1, maskHash: sha256, salt: 32, trailer: 1 };
    const pss = (changes: Partial<typeof good>): string | undefined => {
      const { hash, maskId, maskHash, salt, trailer } = { ...good, ...changes };
      const parts = [hash, algorithm(maskId, maskHash), encodeSmallInteger(salt), encodeSmallInteger(trailer)];
      return nameOf(oids.rsassaPss, encodeSequence(...parts.map((part, index) => encodeElement(0xa0 + index, part))));
    };
    assert.equal(pss({}), "SHA256-RSAPSS");
    assert.equal(pss({ hash: algorithm(oids.sha256), maskHash: algorithm(oids.sha256) }), "SHA256-RSAPSS");
    const sha512 = algorithm(oids.sha512, nothing);
    assert.equal(pss({ hash: sha512, maskHash: sha512, salt: 64 }), "SHA512-RSAPSS");
    for (const changes of [
      { hash: sha512 },
      { maskHash: sha512 },
      { hash: sha512, maskHash: sha512 },
      { hash: algorithm(oids.sha1, nothing), maskHash: algorithm(oids.sha1, nothing), salt: 20 },
      { hash: algorithm(oids.sha256, encodeSmallInteger(1)) },
      { maskHash: algorithm(oids.sha256, encodeSmallInteger(1)) },
      { maskId: oids.sha256 },
      { salt: 20 },
      { trailer: 2 },
    ]) {
      assert.equal(pss(changes), undefined, JSON.stringify(Object.keys(changes)));
    }
    assert.equal(nameOf(oids.rsassaPss), undefined);
    assert.equal(nameOf(oids.rsassaPss, nothing), undefined);
  });
});
