/**
 * Speaks p11-kit's protocol on the standard streams in the place of `p11-kit remote`, with one token and one EC key. The
 * name of the module says how it behaves. Files in FAKE_TOKEN_FOLDER count the logins, and the sessions of a key that `is-renamed`
 * after the first.
 */
import { appendFileSync, existsSync } from "node:fs";
import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import { join } from "node:path";
import { functions } from "../../../src/machinery/pkcs11/module-messages.ts";
import { fakeKeyPem } from "./fake-key.ts";

const folder = process.env["FAKE_TOKEN_FOLDER"] ?? "";
const behaviour = process.argv[3]?.replace("/", "") ?? "";
const { y = "", x = "" } = createPublicKey(fakeKeyPem).export({ format: "jwk" });
const point = Buffer.concat([Buffer.of(4, 65, 4), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")]);
const curve = Buffer.from("06082a8648ce3d030107", "hex");

let hasOtherKey = false;

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const ulong = (value: number): Buffer => Buffer.concat([uint32(0), uint32(value)]);
const octets = (value: Buffer): Buffer => Buffer.concat([uint32(value.length), value]);
const text = (value: string): Buffer => octets(Buffer.from(value));
const list = (...values: number[]): Buffer =>
  Buffer.concat([Buffer.of(1), uint32(values.length), ...values.map((value) => ulong(value))]);

const answerTo = (number: number, values: Buffer): Buffer => {
  const called = Object.values(functions).find((one) => one.number === number);
  const answer = (...parts: Buffer[]): Buffer => Buffer.concat([uint32(number), text(called?.answer ?? ""), ...parts]);
  const failure = (code: number): Buffer => Buffer.concat([uint32(0), text("u"), ulong(code)]);
  switch (called) {
    case functions.slotList:
      return answer(list(5));
    case functions.tokenInfo:
      return answer(
        ...[text("fake".padEnd(32)), text(" ".repeat(32)), text(" ".repeat(16)), text("1".padEnd(16))],
        ulong(behaviour === "has-one-try-left" ? 0x2040d : 0x40d),
      );
    case functions.openSession:
      hasOtherKey = behaviour === "forges" || (behaviour === "is-renamed" && !existsSync(join(folder, behaviour)));
      if (behaviour === "is-renamed") appendFileSync(join(folder, behaviour), "x");
      return answer(ulong(9));
    case functions.login:
      appendFileSync(join(folder, "logins"), "x");
      return values.includes("1234") ? answer() : failure(0xa0);
    case functions.find:
      return answer(list(3));
    case functions.attributes: {
      const isKeyType = values.readUInt32BE(20) === 0x100;
      const parts = isKeyType
        ? [uint32(1), uint32(0x100), Buffer.of(1), uint32(8), ulong(3)]
        : [
            ...[uint32(2), uint32(0x180), Buffer.of(1), uint32(curve.length), octets(curve)],
            ...[uint32(0x181), Buffer.of(1), uint32(point.length), octets(point)],
          ];
      return answer(...parts, ulong(0));
    }
    case functions.signInit:
      // As p11-kit reads it since 0.25.6: the key's number follows the mechanism's.
      return values.readUInt32BE(12) === 0 && values.readUInt32BE(16) === 3 ? answer() : failure(0x60);
    case functions.sign: {
      if (behaviour === "silent") return Buffer.alloc(0);
      if (behaviour === "crashes-once" && !existsSync(join(folder, "crashed"))) {
        appendFileSync(join(folder, "crashed"), "x");
        process.exit(3);
      }
      const key = hasOtherKey ? Buffer.alloc(64, 7) : signed(values.subarray(13, 45));
      return answer(Buffer.of(1), octets(key));
    }
    case undefined:
    default:
      return answer();
  }
};

/** node:crypto signs no digest as it is: the test's text is known. */
const signed = (digest: Buffer): Buffer =>
  digest.length === 32
    ? sign("sha256", Buffer.from("text"), { key: createPrivateKey(fakeKeyPem), dsaEncoding: "ieee-p1363" })
    : Buffer.alloc(64);

let received = Buffer.alloc(0);
let hasVersion = false;
process.stdin.on("data", (chunk: Buffer) => {
  received = Buffer.concat([received, chunk]);
  if (!hasVersion) {
    hasVersion = true;
    received = received.subarray(1);
    process.stdout.write(Buffer.of(0));
  }
  while (received.length >= 12 && received.length >= 12 + received.readUInt32BE(8)) {
    const length = received.readUInt32BE(8);
    const body = received.subarray(12, 12 + length);
    const typesLength = body.readUInt32BE(4);
    const answer = answerTo(body.readUInt32BE(0), body.subarray(8 + typesLength));
    if (answer.length > 0) {
      process.stdout.write(Buffer.concat([received.subarray(0, 4), uint32(0), uint32(answer.length), answer]));
    }
    received = received.subarray(12 + length);
  }
});
