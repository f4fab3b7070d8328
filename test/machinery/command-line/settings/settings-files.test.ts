import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import { readCertificates, readSettingsFile } from "../../../../src/machinery/command-line/settings/settings-files.ts";

function fileIn(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "signet-settings-"));
  context.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "ca.pem");
}

describe("a file that a flag names", () => {
  it("is read without the byte order mark that programs of Windows begin it with", (context) => {
    const file = fileIn(context);
    writeFileSync(file, "\uFEFF-----BEGIN CERTIFICATE-----\n");
    assert.equal(readSettingsFile("from-file", file), "-----BEGIN CERTIFICATE-----\n");
  });

  it("is refused where the key of one of its certificates is too weak to use", (context) => {
    const file = fileIn(context);
    const certificate = (key: string): string =>
      execFileSync(
        "openssl",
        ["req", "-x509", "-newkey", key, "-nodes", "-keyout", `${file}.key`, "-subj", `/CN=${key}`],
        {
          encoding: "utf8",
          stdio: ["ignore", "pipe", "ignore"],
        },
      );
    writeFileSync(file, certificate("rsa:2048") + certificate("rsa:512"));
    assert.throws(() => readCertificates("client-ca-file", file), {
      name: "UsageError",
      message:
        /^--client-ca-file: \S+: the key of certificate 2 \(CN=rsa:512\) is not usable: .*512-bit keys are insecure/,
    });
  });
});
