import { basename } from "node:path";
import { isOnSearchPath } from "../src/machinery/files/locks/is-on-search-path.ts";

/** Other programs that a program for developers starts, and the Debian package that has each. */
const debianPackages = {
  etcd: "etcd-server",
  h2load: "nghttp2-client",
  strace: "strace",
  taskset: "util-linux",
} as const;

type NeededProgram = keyof typeof debianPackages;

/**
 * Ends a program for developers with 2 unless these programs are on this machine, and says how to install the missing ones. `file` is
 * the program's own.
 */
export function needPrograms(file: string, needed: readonly NeededProgram[]): void {
  const missing = needed.filter((name) => !isOnSearchPath(name));
  if (missing.length === 0) return;
  const install = `apt-get install ${missing.map((name) => debianPackages[name]).join(" ")}`;
  console.error(`${basename(file)}: not installed: ${missing.join(", ")} (on Debian: ${install})`);
  process.exit(2);
}
