import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { parsePkcs11Uri } from "../../../src/machinery/pkcs11/pkcs11-uri.ts";

describe("a pkcs11: URI", () => {
  it("names a token, a key, the vendor's library and the file of the PIN", () => {
    const uri =
      "pkcs11:token=my%20token;slot-id=7;object=ca;id=%01%ff;type=private?module-path=/lib/x.so&pin-source=file:/pin";
    assert.deepEqual(parsePkcs11Uri(uri), {
      ...{ token: "my token", serial: undefined, manufacturer: undefined, model: undefined, slotId: 7 },
      ...{ object: "ca", id: Buffer.of(1, 255), modulePath: "/lib/x.so", pinFile: "/pin" },
    });
  });

  for (const [what, uri, message] of [
    ["without a key", "pkcs11:token=t?module-path=/x.so", /name the key/],
    ["without a library", "pkcs11:object=o", /module-path/],
    ["with a library that is searched for", "pkcs11:object=o?module-path=x.so", /module-path/],
    ["with a program for the PIN", "pkcs11:object=o?module-path=/x.so&pin-source=|/bin/pin", /pin-source/],
    ["of a certificate", "pkcs11:object=o;type=cert?module-path=/x.so", /private key/],
    ["with an attribute twice", "pkcs11:object=o;object=p?module-path=/x.so", /twice/],
    ["with an unknown attribute", "pkcs11:object=o;colour=red?module-path=/x.so", /colour/],
    ["with half an octet", "pkcs11:id=%0?module-path=/x.so", /hexadecimal/],
    ["with a slot that is no number", "pkcs11:object=o;slot-id=x?module-path=/x.so", /slot-id/],
    ["with two questions", "pkcs11:object=o?module-path=/x.so?x", /not a pkcs11: URI/],
  ] as const) {
    it(`${what} is refused`, () => {
      assert.throws(() => parsePkcs11Uri(uri), message);
    });
  }

  it("with a PIN is refused, and its PIN is not quoted", () => {
    assert.throws(
      () => parsePkcs11Uri("pkcs11:object=o?module-path=/x.so&pin-value=secret"),
      (error) => error instanceof Error && /use pin-source/.test(error.message) && !error.message.includes("secret"),
    );
  });

  it("reads any label as it was written", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (label) => {
        const uri = `pkcs11:object=${encodeURIComponent(label)}?module-path=/x.so`;
        assert.equal(parsePkcs11Uri(uri).object, label);
      }),
    );
  });
});
