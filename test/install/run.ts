import { spawnSync } from "node:child_process";
import { join } from "node:path";

const cwd = join(import.meta.dirname, "../..");

/** Runs a program in the repository. Returns what it prints. Throws an Error with that when it fails. */
export function run(program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: "utf8", timeout: 600_000 });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}
