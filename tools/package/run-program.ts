import { spawnSync } from "node:child_process";
import { join } from "node:path";

interface RunOptions {
  /** Default: the root of the repository. */
  readonly folder?: string;
  /** Variables besides those of this process. */
  readonly environment?: Readonly<Record<string, string>>;
}

const root = join(import.meta.dirname, "../..");

/** Runs a program, and returns what it printed. Throws an Error, with the output as its cause, when the program fails. */
export function runProgram(
  [program, ...words]: readonly [string, ...string[]],
  { folder = root, environment = {} }: RunOptions = {},
): string {
  const { status, stdout, stderr, error } = spawnSync(program, words, {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, ...environment },
  });
  if (status !== 0) throw new Error(`${program} ${words.join(" ")} failed`, { cause: error ?? `${stdout}${stderr}` });
  return stdout;
}
