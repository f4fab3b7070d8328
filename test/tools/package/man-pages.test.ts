import assert from "node:assert/strict";
import { it } from "node:test";
import { Command } from "commander";
import { exitCodes } from "../../../src/machinery/command-line/command-failure.ts";
import { manPages } from "../../../tools/package/man-pages.ts";

it("a page of the manual has each exit code with its meaning", () => {
  const pages = manPages(new Command("ask").description("ask a server").action(() => {}));
  const text = pages.get("ask.1")?.replaceAll("\\-", "-") ?? "";
  for (const { code, meaning } of Object.values(exitCodes)) {
    assert.ok(text.includes(`\\fB${code}\\fR\n${meaning}\n`), `${code}: ${meaning}`);
  }
});
