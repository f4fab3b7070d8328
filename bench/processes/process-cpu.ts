import { readdirSync, readFileSync } from "node:fs";

/** Linux counts processor time in hundredths of a second, whatever the kernel's own tick (proc(5), USER_HZ). */
const ticksPerSecond = 100;

/** Seconds of processor time that a process has used until now, in all its threads. */
export function processCpuSeconds(processId: number): number {
  const stat = readFileSync(`/proc/${processId}/stat`, "utf8");
  // The program's name, in parentheses, may hold spaces; the user and system times are the 12th and 13th field after it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** Seconds of processor time until now that the host gave to other virtual machines instead (proc(5), "steal"). */
export const stolenSeconds = (): number =>
  Number(/^cpu +(?:\d+ +){7}(\d+)/.exec(readFileSync("/proc/stat", "utf8"))?.[1] ?? 0) / ticksPerSecond;

/** The same as `processCpuSeconds`, of the threads that still run, with a resolution of nanoseconds, for short work. */
export const threadSeconds = (processId: number): number =>
  [...secondsByThreads(processId).values()].reduce((sum, one) => sum + one, 0);

/** The same, by the names of the threads. */
export function secondsByThreads(processId: number): ReadonlyMap<string, number> {
  const seconds = new Map<string, number>();
  for (const thread of readdirSync(`/proc/${processId}/task`)) {
    const fileOf = (name: string): string => readFileSync(`/proc/${processId}/task/${thread}/${name}`, "utf8");
    const name = fileOf("comm").trim();
    const nanoseconds = Number(fileOf("schedstat").split(" ", 1)[0]);
    seconds.set(name, (seconds.get(name) ?? 0) + nanoseconds / 1e9);
  }
  return seconds;
}
