import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";

const file = import.meta.resolve("../../../src/machinery/command-line/confirm.ts");
const program = `import { confirm } from "${file}"; console.log(String(await confirm("Sure?")));`;
/** Runs its command on a terminal. */
const hasScript = spawnSync("script", ["--version"]).status === 0;

describe("a question on the terminal", { skip: !hasScript && "script(1) is not installed" }, () => {
  const answerTo = (typed: string): string => {
    const command = `"${process.execPath}" --input-type=module -e '${program}'`;
    return spawnSync("script", ["-qec", command, "/dev/null"], { input: typed, encoding: "utf8" }).stdout;
  };

  it("takes Ctrl-D as no, and ends the line", () => {
    assert.match(answerTo("\u0004"), /Sure\? \[y\/N\] [^\n]*\nfalse\r?\n$/);
  });

  it("takes y as yes", () => {
    assert.match(answerTo("y\n"), /\ntrue\r?\n$/);
  });
});
