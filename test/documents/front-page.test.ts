/** The block that the README asks to paste, run as it stands in a copy of a checkout. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { describe, it } from "node:test";
import { endsWithParent } from "../../bench/ends-with-parent.ts";
import { comparable } from "./console-blocks.ts";

const root = join(import.meta.dirname, "../..");
const [, block = "", output = ""] =
  /```sh\n([\s\S]*?)```[\s\S]*?```text\n([\s\S]*?)```/.exec(readFileSync(join(root, "README.md"), "utf8")) ?? [];

/** Only `npm ci` is not run, because it needs a registry: this links the packages that are installed already. */
const npm = `#!/bin/sh\n[ "$*" = ci ] && exec ln -s '${join(root, "node_modules")}' node_modules\n`;

const shells = [
  { name: "bash", words: ["bash", "--norc"] },
  { name: "zsh", words: ["zsh", "-f"] },
];

for (const { name, words } of shells) {
  const isMissing = spawnSync(name, ["-c", "true"]).status !== 0;
  describe(`the front page in ${name}`, { skip: isMissing && `${name} is not installed` }, () => {
    it("goes from a checkout to a token and a certificate, and shows what is printed", (context) => {
      const folder = mkdtempSync(join(tmpdir(), "signet-front-page-"));
      context.after(() => rmSync(folder, { recursive: true, force: true }));
      const checkout = join(folder, "the checkout");
      for (const path of ["bin", "src", "package.json"]) {
        cpSync(join(root, path), join(checkout, path), { recursive: true });
      }
      const programs = join(folder, "programs");
      mkdirSync(programs);
      writeFileSync(join(programs, "npm"), npm);
      chmodSync(join(programs, "npm"), 0o755);

      const [program = "", ...args] = [...endsWithParent, ...words];
      const { stdout, stderr } = spawnSync(program, args, {
        cwd: checkout,
        input: `${block}kill $!\nwait\n`,
        encoding: "utf8",
        timeout: 100_000,
        env: { PATH: `${programs}${delimiter}${process.env["PATH"]}`, HOME: folder },
      });
      assert.equal(stderr, "");
      assert.equal(comparable(stdout), comparable(output));
      assert.match(readFileSync(join(checkout, "robot.token"), "utf8"), /^eyJ/);
    });
  });
}
