import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Command } from "commander";
import { exitCodes } from "../../../src/machinery/command-line/command-failure.ts";
import { manPages } from "../../../tools/package/man-pages.ts";

/** The page of a command without flags. */
const text = (): string =>
  manPages(new Command("ask").description("ask a server").action(() => {}))
    .get("ask.1")
    ?.replaceAll("\\-", "-") ?? "";

describe("a page of the manual", () => {
  it("has each exit code with its meaning", () => {
    for (const { code, meaning } of Object.values(exitCodes)) {
      assert.ok(text().includes(`\\fB${code}\\fR\n${meaning}\n`), `${code}: ${meaning}`);
    }
  });

  it("says which flags are required", () => {
    const command = new Command("ask").requiredOption("--key <file>", "the key").action(() => {});
    const page = manPages(command).get("ask.1")?.replaceAll("\\-", "-") ?? "";
    assert.match(page, /^\\fB--key <file>\\fR\nRequired\. The key\.$/m);
  });

  it("has no heading above nothing", () => {
    assert.doesNotMatch(text(), /^\.SH [^\n]+\n(?:\.SH|$)/m);
  });
});
