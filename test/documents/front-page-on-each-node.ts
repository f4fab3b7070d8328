/**
 * Pastes the README's block into bash and zsh on several versions of Node.js, each with the npm that came with it:
 * npm run test:front-page -- [VERSION ...]. Brings them from npm's registry; default: 20 22 24 26. Prints a line for each.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { comparable } from "./console-blocks.ts";
import { frontPage, pasteFrontPage, shells } from "./front-page.ts";

/** The npm that the first release of each version had. */
const npmOf: Readonly<Record<string, string>> = { 20: "10", 22: "10", 24: "11", 26: "11" };

const versions = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(npmOf);
const place = mkdtempSync(join(tmpdir(), "signet-node-versions-"));
try {
  for (const version of versions) {
    const programs = installNode(version);
    for (const [name, words] of Object.entries(shells)) {
      if (spawnSync(name, ["-c", "true"]).status !== 0) {
        console.log(`Node.js ${version}, ${name}: not tried, ${name} is not installed`);
        continue;
      }
      const { output, transcript, remove } = pasteFrontPage(words, { programs });
      remove();
      const isRight = comparable(output) === comparable(frontPage().output);
      const used = spawnSync(join(programs, "node"), ["--version"], { encoding: "utf8" }).stdout.trim();
      console.log(`Node.js ${used}, ${name}: ${isRight ? "ok" : `failed\n${transcript}`}`);
      if (!isRight) process.exitCode = 1;
    }
  }
} finally {
  rmSync(place, { recursive: true, force: true });
}

/** A folder with the programs `node` and `npm` of a version. */
function installNode(version: string): string {
  const folder = join(place, version);
  mkdirSync(folder);
  const runtime = `node-${process.platform}-${process.arch}`;
  const wanted = [`${runtime}@${version}`, `npm@${npmOf[version] ?? "latest"}`];
  const { status, stderr } = spawnSync("npm", ["install", "--prefix", folder, ...wanted], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  const programs = join(folder, "programs");
  mkdirSync(programs);
  const node = join(folder, "node_modules", runtime, "bin/node");
  const npm = join(folder, "node_modules/npm/bin/npm-cli.js");
  for (const [name, command] of Object.entries({ node: `"${node}"`, npm: `"${node}" "${npm}"` })) {
    writeFileSync(join(programs, name), `#!/bin/sh\nexec ${command} "$@"\n`);
    chmodSync(join(programs, name), 0o755);
  }
  return programs;
}
