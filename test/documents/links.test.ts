import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, it } from "node:test";

const root = join(import.meta.dirname, "../..");

const folders = ["docs", "src", "test", "bench", "examples", "tools"];

/** What is in the repository, by the paths there. */
const files = [
  ...readdirSync(root),
  ...folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((file) => `${folder}/${file}`),
  ),
];

/** Every Markdown file. */
const pages = files.filter((path) => path.endsWith(".md"));

interface Link {
  /** The linked file's path in the repository. */
  readonly path: string;
  /** The heading that is meant, or "". */
  readonly heading: string;
  readonly text: string;
}

const withoutCode = (markdown: string): string =>
  markdown.replaceAll(/^```[\s\S]*?^```/gm, "").replaceAll(/`[^`]*`/g, "");

function linksOf(page: string): Link[] {
  const markdown = withoutCode(readFileSync(join(root, page), "utf8"));
  return [...markdown.matchAll(/\]\(([^()\s]+)\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((text) => {
      const [file = "", heading = ""] = text.split("#");
      return { text, heading, path: file === "" ? page : relative(root, join(root, dirname(page), file)) };
    });
}

/** The anchors of a page as GitHub makes them. */
const anchorsOf = (page: string): string[] =>
  [
    ...readFileSync(join(root, page), "utf8")
      .replaceAll(/^```[\s\S]*?^```/gm, "")
      .matchAll(/^#+ (.*)$/gm),
  ].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );

const isGood = ({ path, heading }: Link): boolean =>
  existsSync(join(root, path)) && (heading === "" || !path.endsWith(".md") || anchorsOf(path).includes(heading));

describe("the Markdown files", () => {
  it("link only to files and headings that are there", () => {
    const broken = pages.flatMap((page) =>
      linksOf(page)
        .filter((link) => !isGood(link))
        .map(({ text }) => `${page}: ${text}`),
    );
    assert.ok(pages.length > 10, "there are pages");
    assert.deepEqual(broken, []);
  });

  it("name at most 12 files for each way through the source, which are there", () => {
    const ways = readFileSync(join(root, "docs/architecture.md"), "utf8")
      .split(/^## /m)
      .filter((section) => /^How an? (create|watch event|certificate|agent) /.test(section))
      .map((section) => [...section.matchAll(/`([a-z0-9/-]+\.ts)`/g)].map(([, path = ""]) => path));
    assert.equal(ways.length, 4);
    for (const paths of ways) {
      assert.ok(paths.length <= 12, paths.join(", "));
      assert.deepEqual(
        paths.filter((path) => !existsSync(join(root, "src", path))),
        [],
      );
    }
  });

  it("name only TypeScript files that are there, by the end of their paths", () => {
    const missing = pages.flatMap((page) =>
      [...readFileSync(join(root, page), "utf8").matchAll(/`([\w./-]+\.ts)`/g)]
        .map(([, name = ""]) => name)
        .filter((name) => !files.some((file) => `/${file}`.endsWith(`/${name}`)))
        .map((name) => `${page}: ${name}`),
    );
    assert.deepEqual(missing, []);
  });

  it("say of each decision whether it is in force", () => {
    const state = /^# \d+\. [^\n]+\n\nDate: \d{4}-\d\d-\d\d\. State: (?:in force\.|superseded by \[Decision )/;
    const silent = pages.filter(
      (page) => page.startsWith("docs/decisions/") && !state.test(readFileSync(join(root, page), "utf8")),
    );
    assert.deepEqual(silent, []);
  });

  it("are all in docs/README.md; the pages of kinds in docs/reference/api.md", () => {
    const listed = (index: string): string[] => linksOf(index).map(({ path }) => path);
    const reachable = new Set([...listed("docs/README.md"), ...listed("docs/reference/api.md"), "docs/README.md"]);
    assert.deepEqual(
      pages.filter((page) => page.startsWith("docs/") && !reachable.has(page)),
      [],
    );
  });
});
