import { cpSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "../../tools/package/run-program.ts";

/** Clones a repository, and copies the changes of the working tree into the clone, staged or not, without ignored files. */
export function cloneWithChanges(repository: string, clone: string): void {
  runProgram(["git", "clone", "--quiet", repository, clone]);
  const inTree = { folder: repository };
  const changed = runProgram(["git", "diff", "HEAD", "-z", "--name-only", "--no-renames"], inTree);
  const added = runProgram(["git", "ls-files", "-z", "--others", "--exclude-standard"], inTree);
  for (const path of `${changed}${added}`.split("\0").slice(0, -1)) {
    const [own, copy] = [join(repository, path), join(clone, path)];
    if (existsSync(own)) cpSync(own, copy, { recursive: true });
    else rmSync(copy);
  }
}
