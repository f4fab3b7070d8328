import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import { parse } from "yaml";
import { print, printList, textTableOf } from "../../../../src/machinery/command-line/output/output.ts";
import type { OutputFlags } from "../../../../src/machinery/command-line/output/output.ts";
import { printable } from "../../../../src/machinery/command-line/output/printable.ts";
import { startProgress } from "../../../../src/machinery/command-line/output/progress.ts";
import { textTable } from "../../../../src/machinery/command-line/output/text-table.ts";

/** A line that clears the screen, reverses the direction of text, hides a letter, and has an invisible tag. */
const hostile = "a\u001b[2J\u202eb\u200bc\u{e0041}\u009bd\u3164";
const unprintable = /(?!\n)[\p{Cc}\u200b\u202e\u3164\u{e0041}]/u;

/** What is printed while a function runs. */
function printed(context: TestContext, run: () => void): string {
  let text = "";
  const write = context.mock.method(process.stdout, "write", (chunk: string) => {
    text += chunk;
    return true;
  });
  run();
  write.mock.restore();
  return text;
}

describe("output on a terminal", () => {
  it("escapes characters that control the terminal or hide text", () => {
    assert.equal(printable(hostile), "a\\u{1b}[2J\\u{202e}b\\u{200b}c\\u{e0041}\\u{9b}d\\u{3164}");
    assert.equal(printable("plain Ünïcode 漢字 😀"), "plain Ünïcode 漢字 😀");
    assert.doesNotMatch(textTable([[hostile]], { header: ["NAME"] }), unprintable);
  });

  it("keeps the value in JSON and YAML, with the same characters escaped", (context) => {
    const value = {
      name: hostile,
      [hostile]: "key",
      reversed: "a\u202eb",
      lines: "one\ntwo\n",
      time: "2026-01-01T00:00:00Z",
    };
    const json = printed(context, () => print(value, { flags: { output: "json" }, text: () => "" }));
    const yaml = printed(context, () => print(value, { flags: { output: "yaml" }, text: () => "" }));
    assert.deepEqual([JSON.parse(json), parse(yaml)], [value, value]);
    for (const text of [json, yaml]) assert.doesNotMatch(text, unprintable);
    assert.match(yaml, /time: "2026-01-01T00:00:00Z"/);
  });

  it("cuts a table to the width of the terminal, but never a name, and never without a terminal", () => {
    const rows = [["a-name-that-is-needed-whole", "x".repeat(60), "short"]];
    const header = ["NAME", "SUBJECT", "STATE"];
    const lines = textTable(rows, { header, width: 60 }).split("\n");
    assert.ok(
      lines.every((line) => line.length <= 60),
      lines.join("\n"),
    );
    assert.match(lines[1] ?? "", /^a-name-that-is-needed-whole   x+…   short$/);
    assert.match(textTable(rows, { header }), /x{60}   short$/);
    assert.match(textTable(rows, { header, width: 10 }), /^a-name-that-is-needed-whole   x{11}…   short$/m);
  });

  it("has room for any number of rows", () => {
    const rows = Array.from({ length: 200_000 }, (_, index) => [`row-${index}`, "x"]);
    assert.match(textTable(rows, { header: ["NAME", "X"] }), /^NAME {9}X\n[^]*\nrow-199999 {3}x$/);
  });

  it("aligns characters that are two columns wide or zero", () => {
    const [first = "", second = ""] = textTable([["e\u0301", "x"]], { header: ["漢字", "E"] }).split("\n");
    assert.equal(first, "漢字   E");
    assert.equal(second, "e\u0301      x");
  });

  it("has more columns with -o wide, and one name for each object with -o name", (context) => {
    const columns = [
      { header: "NAME", cell: (item: { name: string }) => item.name },
      { header: "MORE", cell: () => "more", isWide: true as const },
    ];
    assert.equal(textTableOf([{ name: "n" }], { columns, flags: {} }), "NAME\nn");
    assert.equal(textTableOf([{ name: "n" }], { columns, flags: { output: "wide" } }), "NAME   MORE\nn      more");
    const type = { group: "example.com", version: "v1", kind: "Thing", plural: "things", scope: "Cluster" as const };
    const list = {
      apiVersion: "v1",
      kind: "List",
      metadata: {},
      items: [{ apiVersion: "", kind: "", metadata: { name: "n" } }],
    };
    const show = (flags: OutputFlags) => printed(context, () => printList(list, { flags, type, columns: [] }));
    assert.equal(show({ output: "name" }), "thing.example.com/n\n");
  });
});

it("shows progress only on a terminal", () => {
  let shown = "";
  const stream = (isTTY: boolean): NodeJS.WriteStream =>
    ({
      isTTY,
      columns: 8,
      cursorTo: () => true,
      clearLine: () => true,
      write: (text: string) => (shown += text) !== "",
    }) as unknown as NodeJS.WriteStream; // the members that are used
  startProgress(stream(true)).show("a long sentence");
  assert.equal(shown, "a long ");
  shown = "";
  startProgress(stream(false)).show("text");
  assert.equal(shown, "");
});
