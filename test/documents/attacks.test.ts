import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const documents = join(import.meta.dirname, "../../docs");
const markdown = readFileSync(join(documents, "attacks.md"), "utf8");

/** Matches links to test files. The text of a link is a test's name, in which the document may add backticks. */
const links = [...markdown.matchAll(/\[([^\]]+)\]\((\.\.\/test\/[^)]+\.test\.ts)\)/g)].map(
  ([, text = "", file = ""]) => ({
    name: text.replaceAll("`", ""),
    path: join(documents, file),
  }),
);

test("every test that docs/attacks.md names exists under that name", () => {
  const missing = links.filter(({ name, path }) => {
    if (!existsSync(path)) return true;
    const declared = [`("${name}"`, `(\`${name}\``];
    const source = readFileSync(path, "utf8").replaceAll(/\(\s+/g, "(");
    return !declared.some((start) => source.includes(start));
  });
  assert.ok(links.length > 20, "the page names tests");
  assert.deepEqual(missing, []);
});

test("every attack in docs/attacks.md has a test", () => {
  const attacks = (markdown.split("\n## Try it with the fuzzer\n", 1)[0] ?? "").split("\n- ").slice(1);
  assert.ok(attacks.length > 20, "the page lists attacks");
  assert.deepEqual(
    attacks.filter((attack) => !attack.startsWith("**") || !attack.includes(".test.ts)")),
    [],
  );
});
