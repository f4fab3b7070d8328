import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { temporaryFolder } from "../temporary-folder.ts";

const main = join(import.meta.dirname, "../../src/main.js");

it("on an older Node.js, one line names the required version and where it is", () => {
  // What an older one is known by, put in place before the program's first line.
  const older = `data:text/javascript,${encodeURIComponent(
    `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.20.2" } });
     Object.defineProperty(process, "version", { value: "v20.20.2" });`,
  )}`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", older, main, "serve"], {
    encoding: "utf8",
  });
  assert.deepEqual([status, stdout], [2, ""]);
  assert.match(
    stderr,
    /^signet: Node\.js 26 or later is needed, and this is v20\.20\.2; [^\n]+node_modules\/\.bin\/node[^\n]+\n$/,
  );
});

it("in a checkout without its packages, one line says how to install them", () => {
  const folder = temporaryFolder();
  cpSync(join(import.meta.dirname, "../../src"), join(folder, "src"), { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const { status, stderr } = spawnSync(process.execPath, [join(folder, "src/main.js"), "serve"], { encoding: "utf8" });
  assert.equal(status, 2);
  assert.match(
    stderr,
    /^signet: its npm packages are not complete \(Cannot find package '[^\n]+\); run npm ci in its folder[^\n]+\n$/,
  );
});

it("the entry links with any Node.js: it names no export that older ones lack", () => {
  const source = readFileSync(main, "utf8");
  assert.doesNotMatch(source, /import \{[^}]*\} from "node:/);
});
