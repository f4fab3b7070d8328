import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./run.ts";

/** dpkg gives up when another one works. Tests run at the same time, so one waits for the other. */
const words = [join(tmpdir(), "signet-test-dpkg.lock"), "dpkg", "--force-unsafe-io"];

/** Returns what it prints. Throws an Error with that when it fails. */
export const dpkg = (...args: readonly string[]): string => run("flock", ...words, ...args);

/** Configures an installed package as on a machine whose systemd cannot start its service. */
export function configureWhereStartFails(name: string, folder: string): { status: number | null; stderr: string } {
  const systemctl = join(folder, "systemctl");
  writeFileSync(systemctl, '#!/bin/sh\ntest "$1" != try-restart\n', { mode: 0o755 });
  const script = 'mount -t tmpfs none /run && mkdir -p /run/systemd/system && PATH="$1:$PATH" exec "$2" configure';
  const words = ["--mount", "sh", "-c", script, "sh", folder, `/var/lib/dpkg/info/${name}.postinst`];
  const { status, stderr } = spawnSync("unshare", words, { encoding: "utf8" });
  return { status, stderr };
}

/** Removes a package with its settings and data, if it is installed. */
export function purge(name: string): void {
  spawnSync("flock", [...words, "--purge", name], { timeout: 600_000 });
}
