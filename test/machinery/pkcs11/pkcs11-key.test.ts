import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createPublicKey, verify } from "node:crypto";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Pkcs11Key } from "../../../src/machinery/pkcs11/pkcs11-key.ts";
import { KeyUnavailable } from "../../../src/pki/keys/signing-key.ts";
import { fakeKeyPem } from "./fake-key.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const folder = temporaryFolder();

const program = join(folder, "p11-kit");
const fake = join(import.meta.dirname, "fake-p11-kit.ts");
writeFileSync(program, `#!/bin/sh\nFAKE_TOKEN_FOLDER="${folder}" exec "${process.execPath}" "${fake}" "$@"\n`);
chmodSync(program, 0o755);
process.env["PATH"] = `${folder}:${process.env["PATH"]}`;
const pin = join(folder, "pin");
writeFileSync(pin, "1234\n", { mode: 0o600 });

const uriOf = (behaviour: string): string =>
  `pkcs11:token=fake;object=key?module-path=/${behaviour}&pin-source=file:${pin}`;
const time = { now: 0 };
const monotonic = { now: () => time.now };
const open = (behaviour: string, timeoutMilliseconds = 20_000): Promise<Pkcs11Key> =>
  Pkcs11Key.open(uriOf(behaviour), { timeoutMilliseconds, monotonic });
const unavailable = (message: RegExp) => (error: unknown) =>
  error instanceof KeyUnavailable && message.test(error.message);
const text = Buffer.from("text");

describe("a key in a token, with the output of p11-kit since 0.25.6,", () => {
  it("signs, and signs again after the vendor's library has crashed", async () => {
    const key = await open("crashes-once");
    const verifier = { key: createPublicKey(fakeKeyPem), dsaEncoding: "ieee-p1363" as const };
    assert.ok(verify("sha256", text, verifier, await key.sign(text)));
    assert.equal(readFileSync(join(folder, "crashed"), "utf8"), "x");
    key.close();
    await assert.rejects(key.sign(text), KeyUnavailable);
  });

  it("is not used when its signatures do not match its public key", async () => {
    const key = await open("forges");
    await assert.rejects(key.sign(text), unavailable(/not one of the expected key/));
    key.close();
  });

  it("is used once the token has the expected key under its name, and is looked for once a second", async () => {
    const key = await open("is-renamed");
    await assert.rejects(key.sign(text), unavailable(/not one of the expected key/));
    await assert.rejects(key.sign(text), unavailable(/not one of the expected key/));
    assert.equal(readFileSync(join(folder, "is-renamed"), "utf8"), "x");
    time.now += 1_000;
    await key.sign(text);
    key.close();
  });

  it("that does not answer times out, and further calls fail at once", async () => {
    const key = await open("silent");
    key.close();
    const silent = Pkcs11Key.of(uriOf("silent"), {
      publicKey: key.publicKey,
      timeoutMilliseconds: 2_000,
      monotonic,
    });
    const [first, second] = [silent.sign(text), silent.sign(text)];
    // On a busy machine the program may not even have started within this time.
    await assert.rejects(first, unavailable(/did not answer C_\w+ within 2 s/));
    await assert.rejects(second, unavailable(/did not answer C_\w+ within 2 s/));
    silent.close();
  });

  it("that is slow is not asked for a signature that has waited half a minute for its turn", async () => {
    const key = await open("signs");
    const first = key.sign(text);
    await nextTurn();
    const second = key.sign(text);
    time.now += 30_001;
    await first;
    await assert.rejects(second, unavailable(/wait for the token, which is slow/));
    await key.sign(text);
    key.close();
  });

  it("that refuses the PIN is not tried again until the PIN file changes", async () => {
    const { publicKey } = await open("works").then((key) => (key.close(), key));
    writeFileSync(pin, "4321");
    const key = Pkcs11Key.of(uriOf("works"), { publicKey, monotonic });
    const logins = (): number => readFileSync(join(folder, "logins"), "utf8").length;
    await assert.rejects(
      key.sign(text),
      unavailable(/the token refuses the PIN \(C_Login failed with CKR_PIN_INCORRECT\)/),
    );
    const before = logins();
    time.now += 60_000;
    await assert.rejects(key.sign(text), unavailable(/not tried again until the file changes/));
    const other = Pkcs11Key.of(uriOf("works"), { publicKey, monotonic });
    await assert.rejects(other.sign(text), unavailable(/not tried again until the file changes/));
    await assert.rejects(Pkcs11Key.probe(uriOf("works")), /not tried again until the file changes/);
    assert.equal(logins(), before);
    writeFileSync(pin, "1234");
    time.now += 60_000;
    await key.sign(text);
    key.close();
  });

  it("is not asked with a PIN whose refusal would lock the token", async () => {
    const logins = (): number => readFileSync(join(folder, "logins"), "utf8").length;
    const before = logins();
    await assert.rejects(open("has-one-try-left"), /left the token one try, which is not used up here/);
    assert.equal(logins(), before);
  });

  it("is not asked with a PIN that other users can read, or that is in a pipe", async () => {
    chmodSync(pin, 0o640);
    await assert.rejects(open("works"), /open to other users \(mode 0640\); chmod 600 it/);
    chmodSync(pin, 0o600);
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", ["-m", "600", pipe]);
    await assert.rejects(Pkcs11Key.open(uriOf("works").replace(pin, pipe)), /is not a file/);
  });

  it("without p11-kit, says how to install it", async (t) => {
    const path = process.env["PATH"];
    t.after(() => (process.env["PATH"] = path));
    process.env["PATH"] = join(folder, "nothing");
    await assert.rejects(open("works"), /apt-get install p11-kit/);
  });
});
