import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { readCertificates, readSettingsFile } from "../../../../src/machinery/command-line/settings/settings-files.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

const newFile = (): string => join(temporaryFolder(), "ca.pem");

describe("a file that a flag names", () => {
  it("is read without the byte order mark that programs of Windows begin it with", () => {
    const file = newFile();
    writeFileSync(file, "\uFEFF-----BEGIN CERTIFICATE-----\n");
    assert.equal(readSettingsFile("from-file", file), "-----BEGIN CERTIFICATE-----\n");
  });

  it("is refused where the key of one of its certificates is too weak to use", () => {
    const file = newFile();
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
