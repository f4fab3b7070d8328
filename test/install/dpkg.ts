import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** dpkg gives up when another one works. Tests run at the same time, so one waits for the other. */
const words = [join(tmpdir(), "signet-test-dpkg.lock"), "dpkg", "--force-unsafe-io"];

const execute = (...args: readonly string[]) =>
  spawnSync("flock", [...words, ...args], { encoding: "utf8", timeout: 600_000 });

/** Returns what it prints. Throws an Error with that when it fails. */
export function dpkg(...args: readonly string[]): string {
  const { status, stdout, stderr } = execute(...args);
  if (status !== 0) throw new Error(`dpkg ${args.join(" ")} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}

/** Removes a package with its settings and data, if it is installed. */
export function purge(name: string): void {
  execute("--purge", name);
}
