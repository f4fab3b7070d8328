import { cpSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "../../tools/package/run-program.ts";

/** Clones a repository, and makes the clone's files those of the working tree, staged or not. Ignored files stay behind. */
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
