import { spawnSync } from "node:child_process";

const words = ["setpriv", "--pdeathsig", "KILL"];

/**
 * The words before a program and its arguments that let it end when this process ends, also by SIGKILL, after which this process
 * could not end it. Only on Linux with util-linux; elsewhere there are no words.
 */
export const endsWithParent: readonly string[] =
  process.platform === "linux" && spawnSync(words[0] ?? "", [...words.slice(1), "true"]).status === 0 ? words : [];
