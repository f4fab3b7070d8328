import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { shellWord } from "../../../../src/machinery/command-line/output/shell-word.ts";

const texts = [
  ".signet/admin.kubeconfig",
  "with space/admin.kubeconfig",
  'it\'s $HOME `id` "x" \\ * ~ ! # ; & | < > ( ) [ ] { }',
  "~",
  "ünïcode-日本",
  "a new\nline, it's \\ and a \t tab",
  "right\u202eto left",
  "a letter without a glyph:\u3164",
];

test("a text is one word for bash, whatever is in it", () => {
  for (const text of texts) {
    const word = shellWord(text);
    assert.equal(execFileSync("bash", ["-c", `printf %s ${word}`], { encoding: "utf8" }), text, word);
  }
});

test("a path that means nothing to a shell stays as it is", () => {
  for (const path of [".signet/admin.kubeconfig", "/var/lib/signet", "ünïcode-日本/a_b+c@d:e,g%h"]) {
    assert.equal(shellWord(path), path);
  }
});

test("no word has a character that steers a terminal", () => {
  assert.equal(shellWord("a\nb\u202ec"), String.raw`$'a\x0ab\xe2\x80\xaec'`);
  assert.equal(shellWord("a\u3164b"), String.raw`$'a\xe3\x85\xa4b'`);
});
