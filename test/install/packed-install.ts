import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { endsWithParent } from "../../bench/processes/ends-with-parent.ts";
import { ownPath, pasteFrontPage, shells } from "../documents/front-page.ts";
import type { Pasted } from "../documents/front-page.ts";

/** Signet as the README's block packs and installs it. */
export interface PackedInstall extends Omit<Pasted, "folder"> {
  /** The folder, with `node_modules` and nothing of the checkout. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Runs a program in the folder to its end. Throws with its output when it fails. */
  run(program: string, ...args: readonly string[]): string;
}

/** Pastes the README's block into bash. Throws with all that it printed when it installed nothing. */
export function installPacked(): PackedInstall {
  const { folder, ...pasted } = pasteFrontPage(shells.bash);
  if (folder === undefined) {
    pasted.remove();
    throw new Error(pasted.transcript);
  }
  const { NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _ofThisRun, ...environment } = process.env;
  // npm tells its scripts its settings: a run below `npm test` must not hand on those of the checkout.
  const env = Object.fromEntries(
    Object.entries({ ...environment, PATH: ownPath }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !entry[0].startsWith("npm_"),
    ),
  );
  return {
    ...pasted,
    folder,
    environment: env,
    run(program, ...args) {
      const options = { cwd: folder, env, encoding: "utf8", timeout: 600_000 } as const;
      const { status, stdout, stderr } = spawnSync(program, args, options);
      if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status}:\n${stdout}${stderr}`);
      return stdout;
    },
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
