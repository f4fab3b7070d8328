import { readFileSync } from "node:fs";

/** A number that Linux gives for a process (proc(5), /proc/PID/status): memory in KiB. 0 when the process has ended. */
export function processStatus(processId: number, field: "PPid" | "RssAnon" | "RssFile" | "VmRSS"): number {
  try {
    const text = readFileSync(`/proc/${processId}/status`, "utf8");
    return Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0);
  } catch {
    return 0;
  }
}
