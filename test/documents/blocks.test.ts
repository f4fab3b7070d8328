/** No block of commands is on a page by mistake alone: a test runs it, or the page says that none does. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pages } from "./pages.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const root = join(import.meta.dirname, "../..");

interface Block {
  readonly file: string;
  readonly language: string;
  readonly text: string;
  /** Everything from the second-level heading before it to the next one. */
  readonly section: string;
}

function blocksOf(file: string): Block[] {
  const sections = readFileSync(join(root, file), "utf8").split(/^(?=## )/m);
  return sections.flatMap((section) =>
    [...section.matchAll(/^ *```(\w*)\n([\s\S]*?)^ *```$/gm)].map(([, language = "", text = ""]) => ({
      ...{ file, language, text, section },
    })),
  );
}

const blocks = readdirSync(join(root, "docs"))
  .filter((name) => name.endsWith(".md"))
  .flatMap((name) => blocksOf(`docs/${name}`));

const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: Record<string, string> };

/** Whether a line is one of the repository's own commands: `npm run` with a script that is there, npm itself, or node. */
function isOfRepository(line: string): boolean {
  const script = /^npm run (?:-s |--silent )?([\w:-]+)/.exec(line)?.[1];
  return script === undefined ? /^(?:npm (?:ci|start|test)|node)\b/.test(line) : script in scripts;
}

const shown = ({ file, text }: Block): string => `${file}: ${text.split("\n", 1)[0]}`;

describe("the blocks of docs", () => {
  it("that are sessions are on pages whose commands a test runs", () => {
    const held = new Set(pages.map(({ file }) => file));
    const sessions = blocks.filter(({ language }) => language === "console");
    assert.ok(sessions.length > 50, "there are sessions");
    assert.deepEqual(sessions.filter(({ file }) => !held.has(file)).map(shown), []);
  });

  it("that wait for a line in a file also wait while the file does not exist", () => {
    const cwd = temporaryFolder();
    const waits = blocks.flatMap(({ file, text }) =>
      [...text.matchAll(/while kill -0 \S+ && (.*grep.*?); do sleep/g)].map(([, goesOn = ""]) => ({ file, goesOn })),
    );
    assert.ok(waits.length > 5, "there are such blocks");
    for (const { file, goesOn } of waits) {
      const { status, stderr } = spawnSync("bash", ["-c", goesOn], {
        cwd,
        encoding: "utf8",
        env: { ...process.env, LC_ALL: "C" }, // bash complains of a locale that is not installed
      });
      assert.deepEqual({ status, stderr }, { status: 0, stderr: "" }, `${file}: ${goesOn}`);
    }
  });

  it("that show outputs without being sessions are of the repository's own long commands", () => {
    const commands = blocks
      .filter(({ language }) => language !== "console")
      .flatMap(({ file, text }) => [...text.matchAll(/^\$ (.*)$/gm)].map(([, line = ""]) => ({ file, line })));
    assert.deepEqual(
      commands.filter(({ line }) => !isOfRepository(line)).map(({ file, line }) => `${file}: ${line}`),
      [],
    );
  });

  it("that are commands to adapt have a test that their section names, or the section says that they are not run", () => {
    const isHeld = ({ section }: Block): boolean =>
      /not run here|the server of this page was started/i.test(section) ||
      [...section.matchAll(/`(test\/[^`\s]+\.ts)`/g)].some(([, path = ""]) => existsSync(join(root, path)));
    const others = blocks.filter(
      ({ language, text }) =>
        language === "sh" && !text.split("\n").every((line) => line.trim() === "" || isOfRepository(line)),
    );
    assert.ok(others.length > 5, "there are such blocks");
    assert.deepEqual(others.filter((block) => !isHeld(block)).map(shown), []);
  });
});
