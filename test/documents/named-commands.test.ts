/** What the pages say to type, and the pages that messages name, must be there. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Command } from "commander";
import { signetWithoutPrograms } from "../../tools/reference/leaf-commands.ts";
import { sourceFiles } from "../source-graph.ts";

const root = join(import.meta.dirname, "../..");
const program = signetWithoutPrograms();
const read = (page: string): string => readFileSync(join(root, page), "utf8");

/** Those that people wrote. CHANGELOG.md also names what is gone. */
const pages = [
  "README.md",
  "SECURITY.md",
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md") && !file.startsWith("reference/"))
    .map((file) => `docs/${file}`),
];

/** Command lines of Signet: in code spans, in scripts, and after the prompt in sessions. */
function commandLines(markdown: string): string[] {
  const blocks = [...markdown.matchAll(/^```(\w*)[^\n]*\n([\s\S]*?)^```/gm)];
  const typed = blocks.flatMap(([, language = "", text = ""]) => {
    const lines = text.replaceAll("\\\n", " ").split("\n");
    if (language === "console") return lines.filter((line) => line.startsWith("$ "));
    return ["sh", "bash"].includes(language) ? lines : [];
  });
  const spans = [...withoutBlocks(markdown).matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text.replaceAll("\n", " "));
  return [...typed, ...spans].flatMap((text) =>
    [...text.matchAll(/(?:^|[\s$(;&|])signet ([a-z][^|;&<>()#]*)/g)].map(([, words = ""]) => words.trim()),
  );
}

const withoutBlocks = (markdown: string): string => markdown.replaceAll(/^```[\s\S]*?^```/gm, "");

/** What is wrong with a command line: an unknown command, or a flag that the command does not have. */
function faultsOf(line: string): string[] {
  const words = line.split(/\s+/);
  let command: Command = program;
  const flags = new Set(["--help", "--version"]);
  for (;;) {
    for (const { long } of command.options) flags.add(long ?? "");
    const children = command.createHelp().visibleCommands(command);
    const [word = ""] = words;
    const child = children.find((one) => one.name() === word);
    if (child === undefined) {
      // Arguments are in capitals, and a command that holds others may run itself.
      const isUnknown = children.length > 0 && command.registeredArguments.length === 0 && /^[a-z]/.test(word);
      return [
        ...(isUnknown ? [`no command ${word}`] : []),
        ...words
          .map((one) => /^--[a-z][a-z0-9-]*/.exec(one)?.[0] ?? "--help")
          .filter((flag) => !flags.has(flag))
          .map((flag) => `no flag ${flag}`),
      ];
    }
    words.shift();
    command = child;
  }
}

const optionsOf = (command: Command): string[] => [
  ...command.options.map(({ long }) => long ?? ""),
  ...command.commands.flatMap(optionsOf),
];
const allFlags = new Set([...optionsOf(program), "--help"]);

/** These pages are about other programs too, such as kubectl or the benchmarks. */
const pagesOfOtherFlags = /^docs\/(?:clients|conformance|performance|reliability|decisions\/.*)\.md$/;
const flagsOfOthers = new Set([
  "--global",
  "--enable-feature",
  "--format",
  "--import",
  "--initial-cluster-token",
  "--seed",
]);

describe("the pages", () => {
  it("name commands and flags of Signet that are there", () => {
    const faults = pages.flatMap((page) =>
      commandLines(read(page)).flatMap((line) => faultsOf(line).map((fault) => `${page}: signet ${line}: ${fault}`)),
    );
    assert.ok(pages.flatMap((page) => commandLines(read(page))).length > 100, "there are command lines");
    assert.deepEqual(faults, []);
  });

  it("name flags that are there where they name a flag alone", () => {
    const faults = pages
      .filter((page) => !pagesOfOtherFlags.test(page))
      .flatMap((page) =>
        // A flag that continues with another character stands for several, as in `--requestheader-*`.
        [...withoutBlocks(read(page)).matchAll(/`(--[a-z][a-z0-9-]*[a-z0-9])(?=[`= \n])/g)]
          .map(([, flag = ""]) => flag)
          .filter((flag) => !allFlags.has(flag) && !flagsOfOthers.has(flag))
          .map((flag) => `${page}: ${flag}`),
      );
    assert.deepEqual(faults, []);
  });
});

describe("the source", () => {
  it("names pages that are there", () => {
    const named = sourceFiles("src").flatMap(({ path, text }) =>
      [...text.matchAll(/\bdocs\/[\w/-]+\.md\b/g)].map(([page]) => ({ path, page })),
    );
    assert.ok(named.length > 0, "it names pages");
    assert.deepEqual(
      named.filter(({ page }) => !existsSync(join(root, page))),
      [],
    );
  });
});
