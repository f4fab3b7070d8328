import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The cgroup hierarchy with the memory controller: the one of version 2, or the controller's own in version 1. */
const [hierarchy, limitFile] = existsSync("/sys/fs/cgroup/cgroup.controllers")
  ? ["/sys/fs/cgroup", "memory.max"]
  : ["/sys/fs/cgroup/memory", "memory.limit_in_bytes"];

/**
 * A program and its arguments that run another program under a limit of memory, as a container does. Needs Linux and root. The limit is
 * removed when this process ends. Throws the system's errors.
 */
export function memoryLimitLauncher(mebibytes: number): readonly string[] {
  const group = join(hierarchy, `signet-bench-${process.pid}`);
  mkdirSync(group);
  writeFileSync(join(group, limitFile), String(mebibytes * 2 ** 20));
  process.once("exit", () => {
    try {
      rmdirSync(group);
    } catch {
      // The program has not ended completely. An empty group does no harm.
    }
  });
  return ["sh", "-c", `echo $$ > ${join(group, "cgroup.procs")} && exec "$@"`, "sh"];
}
