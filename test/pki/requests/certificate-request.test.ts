import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { constants, generateKeyPairSync, sign } from "node:crypto";
import { describe, it } from "node:test";
import {
  checkRequestSignature,
  checkRequestSignatureInThreadPool,
  parseCertificateRequest,
  parseCertificateRequestPem,
  parseRequestField,
} from "../../../src/pki/requests/certificate-request.ts";
import { createCertificateRequestPem } from "../../../src/pki/requests/create-certificate-request.ts";
import {
  encodeBitString,
  encodeElement,
  encodeObjectIdentifier,
  encodeSequence,
  encodeSetOf,
  encodeSmallInteger,
  encodeUnsignedInteger,
} from "../../../src/pki/der/der-writer.ts";
import { tags } from "../../../src/pki/der/der.ts";
import { encodeDistinguishedName } from "../../../src/pki/names/distinguished-name.ts";
import { generatePrivateKey, publicKeyInfoOf } from "../../../src/pki/keys/keys.ts";
import { oids } from "../../../src/pki/der/object-identifiers.ts";
import { decodeFirstPemBlock, encodePem } from "../../../src/pki/pem.ts";
import { PkiError } from "../../../src/pki/pki-error.ts";
import { noSubjectAltNames } from "../../../src/pki/names/subject-alt-names.ts";
import { encodeExtension } from "../../../src/pki/certificates/extension.ts";

const subject = { commonName: "alice", organizations: ["dev"] };
const privateKey = generatePrivateKey("ECDSA P-256");
const pem = createCertificateRequestPem({ privateKey, subject, subjectAltNames: noSubjectAltNames });
const der = decodeFirstPemBlock(pem)?.bytes ?? Buffer.alloc(0);
const nothing = encodeElement(0xa0);

/** A request with these parts. The signature may be anything. */
const requestOf = (parts: {
  spki?: Buffer;
  attributes?: Buffer;
  algorithm?: Buffer;
  signature?: Buffer;
  unusedBits?: number;
}): Buffer =>
  encodeSequence(
    infoOf(parts),
    parts.algorithm ?? encodeSequence(encodeObjectIdentifier(oids.ecdsaWithSha256)),
    encodeBitString(parts.signature ?? Buffer.alloc(64), parts.unusedBits),
  );

const infoOf = ({ spki, attributes }: { spki?: Buffer; attributes?: Buffer }): Buffer =>
  encodeSequence(
    encodeSmallInteger(0),
    encodeDistinguishedName(subject),
    spki ?? publicKeyInfoOf(privateKey).spki,
    attributes ?? nothing,
  );

const check = (request: Buffer) => (): void => checkRequestSignature(parseCertificateRequest(request));

describe("parseCertificateRequestPem", () => {
  it("reads subject, key and names", () => {
    const names = { ...noSubjectAltNames, dnsNames: ["a.example.com"], ipAddresses: ["10.0.0.1"] };
    const request = parseCertificateRequestPem(
      createCertificateRequestPem({ privateKey, subject, subjectAltNames: names }),
    );
    assert.equal(request.subject.commonName, "alice");
    assert.deepEqual(request.subject.organizations, ["dev"]);
    assert.deepEqual(request.subjectAltNames, names);
    assert.equal(request.publicKey.curve, "P-256");
    assert.doesNotThrow(() => checkRequestSignature(request));
  });

  it("is a valid request for OpenSSL", () => {
    const output = execFileSync("openssl", ["req", "-noout", "-verify", "-subject", "-nameopt", "RFC2253"], {
      input: pem,
      encoding: "utf8",
      stdio: ["pipe", "pipe", "ignore"],
    });
    assert.match(output, /CN=alice,O=dev/);
  });

  it("reads the first block only, and only a CERTIFICATE REQUEST", () => {
    const other = pem.replaceAll("CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST");
    assert.doesNotThrow(() => parseCertificateRequestPem(pem + other));
    for (const text of [other + pem, "", der.toString("base64"), ` ${pem}`]) {
      assert.throws(() => parseCertificateRequestPem(text), { message: "PEM block type must be CERTIFICATE REQUEST" });
    }
  });
});

describe("parseCertificateRequest", () => {
  it("refuses octets after the request", () => {
    assert.throws(() => parseCertificateRequest(Buffer.concat([der, Buffer.of(0)])), {
      message: "asn1: syntax error: trailing data",
    });
  });

  it("names the structure that it expected", () => {
    assert.throws(
      () => parseCertificateRequest(Buffer.from("not a certificate request at all, but text")),
      /^PkiError: asn1: structure error: tags don't match \(16 vs \{class:1 tag:14 .*\} certificateRequest @2$/,
    );
  });

  it("refuses an extension that is requested twice, in one attribute or in two", () => {
    const extension = encodeExtension({ id: "1.2.3", isCritical: false, value: Buffer.of(5, 0) });
    const attribute = (...extensions: Buffer[]): Buffer =>
      encodeSequence(encodeObjectIdentifier(oids.extensionRequest), encodeSetOf([encodeSequence(...extensions)]));
    for (const attributes of [
      encodeElement(0xa0, attribute(extension, extension)),
      encodeElement(0xa0, attribute(extension), attribute(extension)),
    ]) {
      assert.throws(() => parseCertificateRequest(requestOf({ attributes })), {
        message: "x509: certificate request contains duplicate requested extensions",
      });
    }
  });

  it("refuses a signature that ends within an octet", () => {
    assert.throws(() => parseCertificateRequest(requestOf({ unusedBits: 4 })), {
      message: "x509: malformed signature",
    });
  });

  it("refuses a second list of extensions in an attribute, and a value that no decoder would accept", () => {
    const attributes = (id: string, ...values: readonly Buffer[]): Buffer =>
      encodeElement(0xa0, encodeSequence(encodeObjectIdentifier(id), encodeElement(tags.set, ...values)));
    const extensions = encodeSequence();
    assert.throws(
      () =>
        parseCertificateRequest(requestOf({ attributes: attributes(oids.extensionRequest, extensions, extensions) })),
      { message: "asn1: syntax error: trailing data" },
    );
    for (const value of [encodeElement(0), encodeElement(0x10), encodeElement(0x22), encodeElement(5, Buffer.of(0))]) {
      assert.throws(() => parseCertificateRequest(requestOf({ attributes: attributes("1.2.3", value) })), {
        message: "asn1: structure error: malformed value",
      });
      const algorithm = encodeSequence(encodeObjectIdentifier(oids.ecdsaWithSha256), value);
      assert.throws(() => parseCertificateRequest(requestOf({ algorithm })), {
        message: "asn1: structure error: malformed value",
      });
    }
  });

  it("refuses malformed values of the types that it knows, in attributes that it does not", () => {
    const attributes = (value: Buffer): Buffer =>
      encodeElement(0xa0, encodeSequence(encodeObjectIdentifier("1.2.3"), encodeElement(tags.set, value)));
    for (const [tag, good, bad] of [
      [tags.objectIdentifier, [0x2a], [0x80]],
      [tags.integer, [0x7f], [0, 1]],
      [tags.enumerated, [0x7f], [0, 1]],
      [tags.bitString, [0, 1], [8, 0]],
      [tags.boolean, [0xff], [1]],
      [tags.bmpString, [0, 0x41], [0]],
      [tags.universalString, [0, 0, 0, 0x41], [0, 0x41]],
      [tags.octetString, [1], undefined],
    ] as const) {
      const parse = (octets: readonly number[]) =>
        parseCertificateRequest(requestOf({ attributes: attributes(encodeElement(tag, Buffer.from(octets))) }));
      assert.deepEqual(parse(good).extensions, []);
      if (bad !== undefined) assert.throws(() => parse(bad), PkiError, `tag ${tag}`);
    }
  });

  it("skips attributes of other kinds", () => {
    const challenge = encodeSequence(
      encodeObjectIdentifier("1.2.840.113549.1.9.7"),
      encodeSetOf([encodeElement(tags.utf8String, Buffer.from("secret"))]),
    );
    assert.deepEqual(parseCertificateRequest(requestOf({ attributes: encodeElement(0xa0, challenge) })).extensions, []);
  });

  it("reads a bounded number of extensions, in however many attributes they are", () => {
    const attributeOf = (ids: readonly string[]): Buffer => {
      const list = ids.map((id) => encodeExtension({ id, isCritical: false, value: Buffer.alloc(0) }));
      return encodeSequence(encodeObjectIdentifier(oids.extensionRequest), encodeSetOf([encodeSequence(...list)]));
    };
    const read = (counts: readonly number[]): number => {
      const attributes = counts.map((count, which) =>
        attributeOf(Array.from({ length: count }, (_, index) => `1.2.${which}.${index}`)),
      );
      return parseCertificateRequest(requestOf({ attributes: encodeElement(0xa0, ...attributes) })).extensions.length;
    };
    assert.equal(read([200, 56]), 256);
    assert.throws(() => read([200, 57]), { message: "x509: too many extensions" });
    assert.throws(() => read(Array.from({ length: 250 }, () => 2)), { message: "x509: too many extensions" });
  });

  it("reads a bounded number of attributes and of their values", () => {
    const value = encodeElement(tags.null);
    const attributeOf = (values: readonly Buffer[]): Buffer =>
      encodeSequence(encodeObjectIdentifier("1.2.840.113549.1.9.7"), encodeSetOf(values));
    const read = (attributes: readonly Buffer[]): unknown =>
      parseCertificateRequest(requestOf({ attributes: encodeElement(0xa0, ...attributes) }));
    const times = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one);
    read([attributeOf(times(200, value)), ...times(28, attributeOf([value, value]))]);
    const tooMany = { message: "x509: too many attributes in a certificate request" };
    assert.throws(() => read([attributeOf(times(257, value))]), tooMany);
    assert.throws(() => read(times(129, attributeOf([value, value]))), tooMany);
    assert.throws(() => read(times(257, attributeOf([]))), tooMany);
  });

  it("refuses unsupported curves and invalid points", () => {
    const keyOf = (curve: string, point: Buffer): Buffer =>
      encodeSequence(
        encodeSequence(encodeObjectIdentifier(oids.ecPublicKey), encodeObjectIdentifier(curve)),
        encodeBitString(point),
      );
    const point = publicKeyInfoOf(privateKey).keyBytes;
    const offCurve = Buffer.from(point);
    offCurve[64] = (offCurve[64] ?? 0) ^ 1;
    for (const [spki, message] of [
      [keyOf("1.3.132.0.10", point), "x509: unsupported elliptic curve"],
      [keyOf(oids.p256, offCurve), "P256 point not on curve"],
      [keyOf(oids.p256, point.subarray(0, 33)), "invalid P256 point encoding"],
      [
        keyOf(oids.p256, Buffer.concat([Buffer.of(2), point.subarray(1, 33)])),
        "ecdsa: invalid uncompressed public key",
      ],
    ] as const) {
      assert.throws(() => parseCertificateRequest(requestOf({ spki })), { message });
    }
  });

  it("refuses an RSA key of a million bits without calculating with it", () => {
    const key = encodeSequence(encodeUnsignedInteger(Buffer.alloc(125_000, 0xff)), encodeSmallInteger(65_537));
    const algorithm = encodeSequence(encodeObjectIdentifier(oids.rsaEncryption), encodeElement(tags.null));
    const request = requestOf({ spki: encodeSequence(algorithm, encodeBitString(key)) });
    for (let round = 0; round < 1000; round++)
      assert.throws(() => parseCertificateRequest(request), /larger than 16384 bits/);
  });
});

describe("the check of a request's signature in the thread pool", () => {
  const field = (text: string | Buffer): string => Buffer.from(text).toString("base64");

  it("is made once for each text when it succeeds", async () => {
    const request = parseRequestField(field(pem));
    await checkRequestSignatureInThreadPool(request);
    request.signature.fill(0); // a second check would find this
    await checkRequestSignatureInThreadPool(parseRequestField(field(pem)));
  });

  it("is made again each time when it fails", async () => {
    const text = encodePem("CERTIFICATE REQUEST", requestOf({}));
    for (let time = 0; time < 2; time += 1) {
      await assert.rejects(checkRequestSignatureInThreadPool(parseRequestField(field(text))), {
        message: "x509: ECDSA verification failure",
      });
    }
  });
});

describe("checkRequestSignature", () => {
  it("accepts RSA, ECDSA and Ed25519 keys", () => {
    for (const type of ["RSA 2048", "ECDSA P-384", "ECDSA P-521", "Ed25519"] as const) {
      const text = createCertificateRequestPem({
        privateKey: generatePrivateKey(type),
        subject,
        subjectAltNames: noSubjectAltNames,
      });
      assert.doesNotThrow(() => checkRequestSignature(parseCertificateRequestPem(text)), type);
    }
  });

  it("refuses a request that was changed", () => {
    const changed = Buffer.from(der);
    const at = changed.indexOf("alice");
    changed.write("malic", at);
    assert.throws(check(changed), { message: "x509: ECDSA verification failure" });
  });

  it("refuses an algorithm that does not belong to the key", () => {
    const algorithm = encodeSequence(encodeObjectIdentifier(oids.sha256WithRsa), encodeElement(tags.null));
    assert.throws(check(requestOf({ algorithm })), {
      message: "x509: signature algorithm specifies an RSA public key, but have public key of type *ecdsa.PublicKey",
    });
  });

  it("refuses MD5 and unknown algorithms", () => {
    const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
    const { spki } = publicKeyInfoOf(rsa);
    const signedWith = (oid: string, hash: string): Buffer =>
      requestOf({
        spki,
        algorithm: encodeSequence(encodeObjectIdentifier(oid), encodeElement(tags.null)),
        signature: sign(hash, infoOf({ spki }), rsa),
      });
    assert.throws(check(signedWith(oids.md5WithRsa, "md5")), {
      message: "x509: cannot verify signature: insecure algorithm MD5-RSA",
    });
    assert.throws(check(signedWith("1.2.3", "sha256")), {
      message: "x509: cannot verify signature: algorithm unimplemented",
    });
    assert.doesNotThrow(check(signedWith(oids.sha1WithRsa, "sha1")));
  });

  it("accepts PSS only with a salt as long as the hash", () => {
    const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
    const { spki } = publicKeyInfoOf(rsa);
    const signedWith = (saltLength: number): Buffer => {
      const hash = encodeSequence(encodeObjectIdentifier(oids.sha256), encodeElement(tags.null));
      const mask = encodeSequence(encodeObjectIdentifier(oids.mgf1), hash);
      const parameters = encodeSequence(
        encodeElement(0xa0, hash),
        encodeElement(0xa1, mask),
        encodeElement(0xa2, encodeSmallInteger(saltLength)),
      );
      return requestOf({
        spki,
        algorithm: encodeSequence(encodeObjectIdentifier(oids.rsassaPss), parameters),
        signature: sign("sha256", infoOf({ spki }), { key: rsa, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength }),
      });
    };
    assert.doesNotThrow(check(signedWith(32)));
    assert.throws(check(signedWith(222)), { message: "x509: cannot verify signature: algorithm unimplemented" });
  });

  it("refuses RSA keys below 1024 bits", () => {
    const rsa = generateKeyPairSync("rsa", { modulusLength: 512 }).privateKey;
    const algorithm = encodeSequence(encodeObjectIdentifier(oids.sha256WithRsa), encodeElement(tags.null));
    const { spki } = publicKeyInfoOf(rsa);
    const signature = sign("sha256", infoOf({ spki }), rsa);
    assert.throws(check(requestOf({ spki, algorithm, signature })), /512-bit keys are insecure/);
  });
});
