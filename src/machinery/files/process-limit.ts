import { readFileSync } from "node:fs";

/** A limit of this process, by its name in proc(5). Infinity when there is no limit, or when the system does not show it. */
export function processLimit(name: "Max open files" | "Max address space"): number {
  try {
    const limit = new RegExp(`^${name}\\s+(\\d+)`, "m").exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return limit === undefined ? Number.POSITIVE_INFINITY : Number(limit);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
