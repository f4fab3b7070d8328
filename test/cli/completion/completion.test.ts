import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { completedCommands } from "../../../src/cli/completion/completed-command.ts";
import { completionScript } from "../../../src/cli/completion/completion-script.ts";
import type { Shell } from "../../../src/cli/completion/completion-script.ts";
import { signetWithoutPrograms } from "../../../tools/reference/leaf-commands.ts";
import { HostedSignet } from "../hosted-signet.ts";

const program = signetWithoutPrograms();

/** A file, as a person has it: the script is longer than an argument of a program may be. */
const fishScript = join(mkdtempSync(join(tmpdir(), "signet-completion-")), "signet.fish");
writeFileSync(fishScript, completionScript("fish", program));
after(() => rmSync(dirname(fishScript), { recursive: true }));

function runShell(shell: string, args: readonly string[], script = ""): string[] {
  const { status, stdout, stderr, error } = spawnSync(shell, args, {
    encoding: "utf8",
    timeout: 600_000,
    input: script,
    // bash warns of a locale that is not installed.
    env: { ...process.env, LC_ALL: "C" },
  });
  assert.deepEqual([error, status, stderr], [undefined, 0, ""]);
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.split("\t")[0] ?? "");
}

/** What a shell offers for the last of the words. Where it offers files, the answer is FILES. */
const offers: Readonly<Record<Shell, (words: readonly string[]) => string[]>> = {
  // bash splits at "=" before it asks.
  bash: (words) =>
    runShell(
      "bash",
      [
        "--norc",
        "-s",
        ...words.flatMap((word) => (/^--.*=/.test(word) ? word.split(/(=)/).filter((part) => part !== "") : [word])),
      ],
      `${completionScript("bash", program)}
       compopt() { printf 'FILES\\n'; }
       COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _signet; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ),
  zsh: (words) =>
    runShell(
      "zsh",
      ["-f", "-s", ...words],
      `compdef() { : }
       compset() { PREFIX=\${PREFIX#*=} }
       compadd() { shift; print -l -- \${(M)@:#$PREFIX*} }
       _files() { print FILES }
       _describe() { local one; for one in \${(P)2}; do [[ $one == $PREFIX* ]] && print -- \${one%%:*}; done; : }
       ${completionScript("zsh", program)}
       words=("$@"); CURRENT=$#; PREFIX=$words[CURRENT]; _signet`,
    ),
  fish: (words) =>
    runShell("fish", [
      "--no-config",
      "-c",
      'source $argv[1]; complete -C "$argv[2..]"',
      fishScript,
      words.join(" "),
    ]).map((offered) => offered.replace(/^--[^=]+=/, "")),
};

for (const [shell, offer] of Object.entries(offers)) {
  const isThere = spawnSync(shell, ["--version"]).status === 0;
  describe(`the completion of ${shell}`, { skip: !isThere && `${shell} is not installed` }, () => {
    it("offers commands and subcommands", () => {
      assert.deepEqual(offer(["signet", "ser"]), ["serve"]);
      assert.deepEqual(offer(["signet", "csr", "de"]).sort(), ["deny", "describe"]);
      assert.deepEqual(offer(["signet", "bootstrap-token", ""]).sort(), ["create", "delete", "list"]);
    });

    it("offers the flags of the command in the line, whatever flags come before", () => {
      assert.deepEqual(offer(["signet", "csr", "create", "ann", "--key-t"]), ["--key-type"]);
      assert.deepEqual(offer(["signet", "csr", "list", "--key-t"]), []);
      assert.deepEqual(offer(["signet", "serve", "--profile", "platform", "--tls-sa"]), ["--tls-san"]);
    });

    it("offers the values of a flag", () => {
      assert.deepEqual(offer(["signet", "serve", "--profile", "k"]), ["kubernetes"]);
      assert.deepEqual(offer(["signet", "serve", "--profile=k"]), ["kubernetes"]);
      assert.deepEqual(offer(["signet", "csr", "list", "-o", "y"]), ["yaml"]);
      assert.deepEqual(offer(["signet", "completion", "z"]), ["zsh"]);
    });

    it("offers no commands when a flag needs a free value", () => {
      assert.deepEqual(offer(["signet", "csr", "create", "--common-name", ""]), []);
    });

    // fish is asked without a terminal: there it offers no files.
    if (shell === "fish") return;
    it("offers files when a flag or argument takes a file", () => {
      assert.deepEqual(offer(["signet", "csr", "create", "--key-file", ""]), ["FILES"]);
      assert.deepEqual(offer(["signet", "serve", "--data-dir", ""]), ["FILES"]);
    });
  });
}

let signet: HostedSignet;
before(() => {
  signet = new HostedSignet();
});
after(() => signet.stop());

describe("signet completion", () => {
  it("has every command and flag in one line each", () => {
    const commands = completedCommands(program);
    assert.deepEqual(
      commands.filter(({ path }) => path === "signet csr create").map(({ flags }) => flags.length > 15),
      [true],
    );
    const descriptions = commands.flatMap(({ flags, subcommands }) => [...flags, ...subcommands]);
    assert.ok(descriptions.every(({ description }) => description !== "" && !description.includes("\n")));
  });

  it("prints the script, and lists the supported shells", async () => {
    const { code, stdout } = await signet.run(["completion", "bash"]);
    assert.deepEqual([code, stdout], [0, completionScript("bash", program)]);
    const wrong = await signet.run(["completion", "tcsh"]);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /Allowed choices are bash, zsh, fish/);
  });
});

it("signet --version prints the version alone", async () => {
  assert.match((await signet.run(["--version"])).stdout, /^\d+\.\d+\.\d+\n$/);
});
