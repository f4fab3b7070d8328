import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./run.ts";

/** dpkg gives up when another one works. Tests run at the same time, so one waits for the other. */
const words = [join(tmpdir(), "signet-test-dpkg.lock"), "dpkg", "--force-unsafe-io"];

/** Returns what it prints. Throws an Error with that when it fails. */
export const dpkg = (...args: readonly string[]): string => run("flock", ...words, ...args);

/** Removes a package with its settings and data, if it is installed. */
export function purge(name: string): void {
  spawnSync("flock", [...words, "--purge", name], { timeout: 600_000 });
}
