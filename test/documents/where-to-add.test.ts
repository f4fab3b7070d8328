/**
 * Checks what CONTRIBUTING.md says about where to add what. Adds an example of each to a copy of the repository, in exactly the files that
 * the page names, and runs there the tests that the page names.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { before, describe, it } from "node:test";
import { additions } from "./additions.ts";
import type { Addition } from "./additions.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const root = join(import.meta.dirname, "../..");
const copied = ["src", "test", "bench", "examples", "tools", "docs", "package.json", "tsconfig.json", "README.md"];
const recordings = join(root, "test/conformance/vectors");

/** Paths in backticks below src, test and docs: `<name>` matches any one name. */
const pathsIn = (text: string): string[] =>
  [...text.matchAll(/`((?:src|test|docs)\/[^`\s]+)`/g)].map(([, path = ""]) => path);

/** The numbered steps of a section; what comes after them is for some cases alone. */
const stepPaths = ({ section }: Addition): string[] => {
  const contributing = readFileSync(join(root, "CONTRIBUTING.md"), "utf8");
  const [, text = ""] = contributing.split(`### ${section}\n`);
  const steps = /\n1\. [\s\S]*?(?=\n\n(?![ \d])|\n#|$)/.exec(text)?.[0] ?? "";
  return pathsIn(steps);
};

const touchedBy = ({ files, changes, written }: Addition): string[] => [
  ...new Set([...Object.keys(files), ...changes.map(({ file }) => file), ...written]),
];

const isNamed = (path: string, file: string): boolean =>
  new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/<[^>]+>/g, "[^/]+")}$`).test(file);

function apply({ files, changes }: Addition, copy: string): void {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    writeFileSync(join(copy, file), text, { flag: "wx" });
  }
  for (const { file, find, replacement } of changes) {
    const text = readFileSync(join(copy, file), "utf8");
    assert.equal(text.split(find).length, 2, `${file} has once: ${find}`);
    writeFileSync(
      join(copy, file),
      text.replace(find, () => replacement),
    );
  }
}

/** Runs Node.js in the copy and returns what it printed; fails when it fails. */
async function run(copy: string, ...args: readonly string[]): Promise<string> {
  const { NODE_TEST_CONTEXT: _ofThisRun, SIGNET_TEST_PROGRAM: _withoutTheAdditions, ...environment } = process.env;
  // The code that the other tests compiled: a portable cache knows a source by its path from the cache's folder.
  const cache = { NODE_COMPILE_CACHE: join(copy, "node_modules/.cache/tests"), NODE_COMPILE_CACHE_PORTABLE: "1" };
  const child = spawn(process.execPath, ["--import", "./test/direct-resolution.ts", ...args], {
    cwd: copy,
    env: { ...environment, ...cache },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  await once(child, "close");
  assert.equal(child.exitCode, 0, `node ${args.join(" ")}\n${output}`);
  return output;
}

describe("where to add what", { concurrency: 2 }, () => {
  const copy = temporaryFolder();

  before(async () => {
    for (const path of copied) {
      cpSync(join(root, path), join(copy, path), { recursive: true, filter: (source) => source !== recordings });
    }
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
    for (const addition of additions) apply(addition, copy);
    for (const script of additions.flatMap(({ scripts }) => scripts)) await run(copy, ...script);
  });

  for (const addition of additions) {
    it(`"${addition.section}" names the files that are touched, and no others`, () => {
      const touched = touchedBy(addition);
      const paths = stepPaths(addition);
      assert.deepEqual(
        touched.filter((file) => !paths.some((path) => isNamed(path, file))),
        [],
        `files that only the test names; the page has: ${paths.join(", ")}`,
      );
      assert.deepEqual(
        paths.filter((path) => !touched.some((file) => isNamed(path, file))),
        [],
        "files that only the page names",
      );
    });
  }

  it("passes the type check", async () => {
    // The rest of the tests imports nothing of what was added.
    const include = ["src", ...additions.flatMap(touchedBy).filter((file) => file.startsWith("test/"))];
    writeFileSync(join(copy, "tsconfig.additions.json"), JSON.stringify({ extends: "./tsconfig.json", include }));
    await run(copy, "node_modules/typescript/bin/tsc", "--noEmit", "--project", "tsconfig.additions.json");
  });

  it("passes the tests of the architecture and of the generated pages", async () => {
    await run(copy, "--test", "test/architecture.test.ts", "test/documents/reference.test.ts");
  });

  it("a kind passes the suites over every listed kind", async () => {
    const suites = ["test/features/every-kind.test.ts", "test/profiles/every-kind.test.ts"];
    const output = await run(copy, "--test", "--test-name-pattern", "Widget", ...suites);
    assert.match(output, /Widget/);
    assert.match(output, /is created once, read, replaced, patched, applied and deleted/);
  });

  it("a signer passes the contract of signers", async () => {
    const pattern = "service-serving";
    const output = await run(
      copy,
      "--test",
      "--test-name-pattern",
      pattern,
      "test/features/certificates/signers/signer-contract.test.ts",
    );
    assert.match(output, /the signer platform\.io\/service-serving/);
    assert.match(output, /issues what every reader accepts/);
  });

  it("a credential passes the contract of credentials", async () => {
    const output = await run(
      copy,
      "--test",
      "--test-name-pattern",
      "an API key",
      "test/server/credentials/credential-contract.test.ts",
    );
    assert.match(output, /an API key/);
    assert.match(output, /identifies its user in each of several requests/);
  });
});
