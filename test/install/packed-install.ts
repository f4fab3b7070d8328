import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { endsWithParent } from "../../bench/ends-with-parent.ts";

const root = join(import.meta.dirname, "../..");

/** The PATH of a user without a checkout: `node` is the machine's own. */
const ownPath = (process.env["PATH"] ?? "")
  .split(delimiter)
  .filter((folder) => !folder.includes("node_modules"))
  .join(delimiter);

/** Signet as `npm install` puts it into an empty folder, from what `npm pack` packs. */
export interface PackedInstall {
  /** The folder, with `node_modules` and nothing of the checkout. */
  readonly folder: string;
  /** What `npm pack` made. */
  readonly tarball: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Runs a program in the folder to its end. Throws with its output when it fails. */
  run(program: string, ...args: readonly string[]): string;
  remove(): void;
}

/** Packs the checkout and installs it. Packages come from npm's cache, which `npm ci` has filled, else from the registry. */
export function installPacked(): PackedInstall {
  const place = mkdtempSync(join(tmpdir(), "signet-packed-"));
  const folder = join(place, "app");
  mkdirSync(folder);
  const { NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _ofThisRun, ...environment } = process.env;
  // npm tells its scripts its settings: a run below `npm test` must not hand on those of the checkout.
  const env = Object.fromEntries(
    Object.entries({ ...environment, PATH: ownPath, HOME: process.env["HOME"] ?? place }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !entry[0].startsWith("npm_"),
    ),
  );
  const run = (program: string, args: readonly string[], cwd: string): string => {
    const { status, stdout, stderr } = spawnSync(program, args, { cwd, env, encoding: "utf8", timeout: 600_000 });
    if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status}:\n${stdout}${stderr}`);
    return stdout;
  };
  const packed = run("npm", ["pack", "--silent", "--pack-destination", place], root);
  const tarball = join(place, packed.trim().split("\n").at(-1) ?? "");
  run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", tarball], folder);
  return {
    folder,
    tarball,
    environment: env,
    run: (program, ...args) => run(program, args, folder),
    remove: () => rmSync(place, { recursive: true, force: true }),
  };
}

export interface InstalledServer {
  readonly process: ChildProcess;
  readonly kubeconfig: string;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
}

/** Starts `signet serve` of the install on a free port; resolves when it says that it is ready. */
export async function serveInstalled({ folder, environment }: PackedInstall): Promise<InstalledServer> {
  const data = join(folder, "data");
  const [program = "", ...words] = [
    ...endsWithParent,
    join(folder, "node_modules/.bin/signet"),
    ...["serve", "--data-dir", data, "--secure-port", "0"],
  ];
  const child = spawn(program, words, { cwd: folder, env: environment, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  await new Promise<void>((resolve, reject) => {
    void ended.then(([code]) => reject(new Error(`the server ended with ${String(code)}`)));
    createInterface({ input: child.stdout }).on("line", (line) => line.startsWith("ready in ") && resolve());
  });
  return {
    process: child,
    kubeconfig: join(data, "admin.kubeconfig"),
    async stop() {
      child.kill("SIGTERM");
      const [code] = (await ended) as [number | null];
      return code;
    },
  };
}
