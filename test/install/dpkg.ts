import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./run.ts";

/** dpkg fails while another dpkg runs. Tests run at the same time, so this waits for the other. */
const words = [join(tmpdir(), "signet-test-dpkg.lock"), "dpkg", "--force-unsafe-io"];

/**
 * Returns what it prints. Throws an Error with that when it fails. Other packages' triggers wait for `purge`: man-db's reads
 * all manuals of the machine, which takes longer than the rest.
 */
export const dpkg = (...args: readonly string[]): string => run("flock", ...words, "--no-triggers", ...args);

/** Runs a maintainer script of an installed package, such as `signet.postinst configure`, where systemd refuses a command. */
export function runWhereSystemdRefuses(
  refused: string,
  { folder, script, argument }: { readonly folder: string; readonly script: string; readonly argument: string },
): { status: number | null; stderr: string } {
  const systemctl = join(folder, "systemctl");
  writeFileSync(systemctl, `#!/bin/sh\ntest "$1" != ${refused}\n`, { mode: 0o755 });
  const commands = 'mount -t tmpfs none /run && mkdir -p /run/systemd/system && PATH="$1:$PATH" exec "$2" "$3"';
  const words = ["--mount", "sh", "-c", commands, "sh", folder, `/var/lib/dpkg/info/${script}`, argument];
  const { status, stderr } = spawnSync("unshare", words, { encoding: "utf8" });
  return { status, stderr };
}

/** Removes a package with its settings and data, if it is installed, and runs the triggers that wait. */
export function purge(name: string): void {
  for (const args of [
    ["--no-triggers", "--purge", name],
    ["--triggers-only", "--pending"],
  ]) {
    spawnSync("flock", [...words, ...args], { timeout: 600_000 });
  }
}
