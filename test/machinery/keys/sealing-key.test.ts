import assert from "node:assert/strict";
import { chmodSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { UnusableFile } from "../../../src/machinery/files/unusable-file.ts";
import { SealingKey } from "../../../src/machinery/keys/sealing-key.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

describe("a sealing key", () => {
  const folder = temporaryFolder();
  const file = join(folder, "sealing.key");
  const key = SealingKey.open(folder);
  const secret = "-----BEGIN PRIVATE KEY-----";

  it("is generated once, and only its owner can read it", () => {
    assert.equal(SealingKey.open(folder).id, key.id);
    assert.equal(statSync(file).mode & 0o777, 0o600);
  });

  it("opens what it has sealed only under the same name, and the sealed text reveals nothing", () => {
    const sealed = key.seal(secret, "one");
    assert.equal(SealingKey.open(folder).unseal(sealed, "one"), secret);
    assert.notEqual(key.seal(secret, "one"), sealed);
    assert.ok(!Buffer.from(sealed.split(":")[1] ?? "", "base64").includes("PRIVATE"));
    assert.throws(() => key.unseal(sealed, "another"), UnusableFile);
  });

  it("refuses what was changed, cut off, or sealed with another key, and says what to do", () => {
    const sealed = key.seal(secret, "one");
    const [id = "", text = ""] = sealed.split(":");
    for (let at = 0; at < Buffer.from(text, "base64").length; at += 1) {
      const bytes = Buffer.from(text, "base64");
      bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
      assert.throws(() => key.unseal(`${id}:${bytes.toString("base64")}`, "one"), /was changed/);
      assert.throws(() => key.unseal(`${id}:${bytes.subarray(0, at).toString("base64")}`, "one"), /was changed/);
    }
    assert.throws(
      () => SealingKey.open(temporaryFolder()).unseal(sealed, "one"),
      /copy that file from a backup or another replica/,
    );
  });

  it("is not used when other users can read it, and not made through a link", () => {
    chmodSync(file, 0o644);
    assert.throws(() => SealingKey.open(folder), /open to other users/);
    rmSync(file);
    symlinkSync(join(folder, "elsewhere"), file);
    SealingKey.open(folder);
    assert.ok(!statSync(join(folder, "elsewhere"), { throwIfNoEntry: false }));
    const digits = Buffer.alloc(32, 7).toString("base64");
    for (const text of ["short", digits.slice(4), `${digits}${digits}`, `${digits}x`, digits.replaceAll("=", "")]) {
      writeFileSync(file, `${text}\n`);
      assert.throws(() => SealingKey.open(folder), /is not 32 bytes in base64/, text);
    }
    writeFileSync(file, ` ${digits}\n`);
    assert.match(SealingKey.open(folder).id, /^[0-9a-f]{16}$/);
  });

  it("is not made where something is sealed already, which a new one would not open", () => {
    const empty = temporaryFolder();
    assert.throws(
      () => SealingKey.open(empty, { makesKey: false }),
      /sealing\.key is not there: .*copy it from a backup/,
    );
    assert.deepEqual(readdirSync(empty), []);
  });
});
