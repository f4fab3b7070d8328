import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { readSettingsFile } from "../../../../src/machinery/command-line/settings/settings-files.ts";

describe("a file that a flag names", () => {
  it("is read without the byte order mark that programs of Windows begin it with", (context) => {
    const folder = mkdtempSync(join(tmpdir(), "signet-settings-"));
    context.after(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "ca.pem");
    writeFileSync(file, "\uFEFF-----BEGIN CERTIFICATE-----\n");
    assert.equal(readSettingsFile("from-file", file), "-----BEGIN CERTIFICATE-----\n");
  });
});
