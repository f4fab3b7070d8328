/** Makes the folder that runs on a machine of this platform without npm: npm run package:program -- FOLDER */
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { bundleProgram } from "./program-bundle.ts";
import { runProgram } from "./run-program.ts";

const root = join(import.meta.dirname, "../..");

/** What an install does not need on this platform: other machines' binaries, headers, and what only compilers read. */
const unneeded =
  /^\.\/(?:node-(?:bin-)?(?:linux|darwin)-[^/]+\/(?:include|share|CHANGELOG\.md|README\.md)|@lmdb\/[^/]+\/node\.(?:abi.*|.*musl)\.node|node-addon-api)$/;

/** Fills a new folder with the program, its packages by the lock file, and the runtime. Rejects with an Error with the output. */
export async function writeProgramFolder(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const part of ["bin", "package.json", "package-lock.json", "LICENSE"]) {
    cpSync(join(root, part), join(folder, part), { recursive: true });
  }
  await bundleProgram(join(folder, "dist"));
  runProgram(["npm", "ci", "--omit=dev", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"], {
    folder,
  });
  const modules = join(folder, "node_modules");
  for (const path of runProgram(["find", ".", "-maxdepth", "3"], { folder: modules })
    .split("\n")
    .filter((one) => unneeded.test(one))) {
    rmSync(join(modules, path), { recursive: true });
  }
  rmSync(join(folder, "package-lock.json"));
  // Modes of files must not depend on the umask of the build, because a server that is not root must be able to read the files.
  runProgram(["chmod", "-R", "u+rwX,go+rX,go-w", "."], { folder });
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) {
    console.error("usage: npm run package:program -- FOLDER");
    process.exit(2);
  }
  await writeProgramFolder(resolve(folder));
}
