import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

const root = join(import.meta.dirname, "../..");

function run(program: string, ...words: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, program), ...words], { encoding: "utf8" });
  return { status, stdout, stderr };
}

test("a program for developers prints the comment at its top for --help", () => {
  const { status, stdout, stderr } = run("bench/recompiled.ts", "--help");
  assert.deepEqual({ status, stderr }, { status: 0, stderr: "" });
  assert.match(stdout, /^Names the functions that V8 optimises again and again/);
  assert.match(stdout, /\n {2}npm run bench:recompiled -- \[--requests N\] \[--only WORKLOAD\]\n$/);
});

for (const [words, message] of [
  [["--requests=many"], 'compare.ts: --requests takes a whole number, not "many"\n\n'],
  [["--requests=-1"], 'compare.ts: --requests takes a whole number, not "-1"\n\n'],
  [["--only", "certificates"], "compare.ts: --only takes one of get, list, selfsubjectreview, "],
  [["--only"], "compare.ts: Option '--only <value>' argument missing\n\n"],
  [["--request=3"], "compare.ts: Unknown option '--request'."],
  [[], "compare.ts: name the folder of the other CHECKOUT\n\n"],
] as const) {
  test(`a program for developers refuses \`${words.join(" ")}\` in one line and shows its usage`, () => {
    const { status, stdout, stderr } = run("bench/compare.ts", ...words);
    assert.deepEqual({ status, stdout }, { status: 2, stdout: "" });
    assert.ok(stderr.startsWith(message), stderr);
    assert.match(stderr, /\n\nCompares the processor time for a request/);
    assert.doesNotMatch(stderr, /\n {4}at /, "no stack trace");
  });
}

test("the comment at the top of each program for developers names all its flags", () => {
  const programs = globSync(["bench/*.ts", "test/**/*.ts"], { cwd: root })
    .map((file) => ({ file, source: readFileSync(join(root, file), "utf8") }))
    .filter(({ source }) => /= programFlags\(import\.meta\.filename/.test(source));
  assert.ok(programs.length > 20, "the programs are found");
  for (const { file, source } of programs) {
    const flags = /programFlags\(import\.meta\.filename, \{(.*?)\}\);/s.exec(source)?.[1] ?? "";
    for (const [, name] of flags.matchAll(
      /"?([\w-]+)"?: (?:wholeNumber|randomSeed|text|neededText|oneOf|isGiven)\(/g,
    )) {
      const place = source.indexOf(`--${name}`);
      assert.ok(place > 0 && place < source.indexOf("\n */"), `${file} has a flag --${name}`);
    }
  }
});
