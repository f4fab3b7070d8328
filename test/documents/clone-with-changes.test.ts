import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { runProgram } from "../../tools/package/run-program.ts";
import { cloneWithChanges } from "./clone-with-changes.ts";
import { temporaryFolder } from "../temporary-folder.ts";

it("a clone with the changes of a working tree has its files, whether they are staged or not, and none that is ignored", () => {
  const place = temporaryFolder();
  const [repository, clone] = [join(place, "of a user"), join(place, "clone")];
  mkdirSync(repository);
  const git = (...words: readonly string[]): string =>
    runProgram(
      ["git", "-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false", ...words],
      { folder: repository },
    );
  const write = (name: string, text: string): void => writeFileSync(join(repository, name), text);
  git("init", "--quiet");
  write(".gitignore", "ignored");
  for (const name of ["same", "edited", "staged", "deleted", "moved", "forgotten"]) write(name, "before");
  git("add", ".");
  git("commit", "--quiet", "--message", "before");
  write("edited", "after");
  write("staged", "after");
  git("add", "staged");
  rmSync(join(repository, "deleted"));
  git("mv", "moved", "moved to");
  git("rm", "--quiet", "--cached", "forgotten");
  write("staged and gone", "after");
  git("add", "staged and gone");
  rmSync(join(repository, "staged and gone"));
  mkdirSync(join(repository, "folder"));
  write("folder/näw", "after");
  write("ignored", "after");

  cloneWithChanges(repository, clone);

  rmSync(join(repository, "ignored"));
  const filesOf = (folder: string): Readonly<Record<string, string>> =>
    Object.fromEntries(
      readdirSync(folder, { recursive: true, encoding: "utf8" })
        .filter((name) => !name.startsWith(".git/") && statSync(join(folder, name)).isFile())
        .map((name) => [name, readFileSync(join(folder, name), "utf8")]),
    );
  assert.deepEqual(filesOf(clone), filesOf(repository));
  assert.equal(filesOf(clone)["folder/näw"], "after");
});
