import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, it } from "node:test";
import { temporaryFolder } from "../temporary-folder.ts";

const main = join(import.meta.dirname, "../../src/main.js");
const isRoot = process.getuid?.() === 0;
const someoneElse = 65_534;

/** Starts the program in a separate environment. Without a cache it must not write any files. */
function start(environment: Record<string, string>): void {
  execFileSync(process.execPath, [main, "--help"], { env: { PATH: process.env["PATH"], ...environment } });
}

const printFolder = `import { compileCacheFolder } from "${import.meta.resolve("../../src/compile-cache-folder.js")}";
process.stdout.write(String(compileCacheFolder()));`;

/** The folder that the program uses in a separate environment, or "undefined". */
const folderIn = (environment: Record<string, string>): string =>
  execFileSync(process.execPath, ["--input-type=module", "--eval", printFolder], {
    env: environment,
    encoding: "utf8",
  });

const modeOf = (file: string): number => lstatSync(file).mode & 0o777;

describe("the cache of compiled code", () => {
  let scratch = "";
  let home = "";
  const folder = (): string => join(home, ".cache/signet/compile-cache");
  beforeEach(() => {
    scratch = realpathSync(temporaryFolder());
    home = join(scratch, "home");
    mkdirSync(home, { mode: 0o700 });
  });

  it("is in the user's own cache folder, closed to everybody else", () => {
    start({ HOME: home });
    assert.equal(modeOf(folder()), 0o700);
    assert.equal(readdirSync(folder()).length, 1);
  });

  it("is below XDG_CACHE_HOME if that is set", () => {
    const used = folderIn({ HOME: join(scratch, "nowhere"), XDG_CACHE_HOME: home });
    assert.equal(used, join(home, "signet/compile-cache"));
  });

  it("is never in the temporary folder, also when there is no home", () => {
    const temporary = join(scratch, "temporary");
    mkdirSync(temporary);
    start({ HOME: join(scratch, "nowhere"), TMPDIR: temporary });
    assert.deepEqual(readdirSync(temporary), []);
  });

  it("is not used by a user who has neither a home nor a name, as in a container", () => {
    const withoutHome =
      'import os from "node:os"; import { syncBuiltinESMExports } from "node:module";' +
      'os.homedir = () => { throw new Error("uv_os_homedir returned ENOENT"); }; syncBuiltinESMExports();';
    start({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(withoutHome)}`, KUBECONFIG: "" });
  });

  it("is not used when XDG_CACHE_HOME is a relative path", () => {
    assert.equal(folderIn({ HOME: home, XDG_CACHE_HOME: "home" }), folder(), "the home's own is used");
    assert.ok(!existsSync("home"));
  });

  const prepared: readonly { readonly what: string; readonly prepare: () => void }[] = [
    { what: "a folder that others may write to", prepare: () => chmodSync(folder(), 0o777) },
    { what: "a folder that others may read", prepare: () => chmodSync(folder(), 0o755) },
    { what: "a folder in one that others may write to", prepare: () => chmodSync(join(home, ".cache"), 0o770) },
    { what: "a home that others may write to", prepare: () => chmodSync(home, 0o777) },
    { what: "a home in a folder that others may write to", prepare: () => chmodSync(scratch, 0o777) },
  ];
  for (const { what, prepare } of prepared) {
    it(`is not used in ${what}`, () => {
      mkdirSync(folder(), { recursive: true, mode: 0o700 });
      prepare();
      assert.equal(folderIn({ HOME: home }), "undefined");
    });
  }

  it("is not used through a link, and nothing is made behind one", () => {
    const target = join(scratch, "target");
    mkdirSync(target, { mode: 0o700 });
    mkdirSync(join(home, ".cache"), { mode: 0o700 });
    symlinkSync(target, join(home, ".cache/signet"));
    assert.equal(folderIn({ HOME: home }), "undefined");
    assert.deepEqual(readdirSync(target), []);
  });

  it(
    "is not used when it, or a folder above it, is another user's",
    { skip: !isRoot && "only root can give files away" },
    () => {
      for (const theirs of [folder(), join(home, ".cache"), home, scratch]) {
        mkdirSync(folder(), { recursive: true, mode: 0o700 });
        chownSync(theirs, someoneElse, someoneElse);
        assert.equal(folderIn({ HOME: home }), "undefined", theirs);
        chownSync(theirs, 0, 0);
      }
    },
  );
});
