import { existsSync, readFileSync } from "node:fs";

/** What a process reads and writes, in all its threads: files, pipes and sockets (proc(5), /proc/PID/io). */
export interface ProcessIo {
  /** System calls that read or write. */
  readonly calls: number;
  /** Bytes that these calls copy. */
  readonly bytes: number;
}

/** Totals until now. Undefined: this system does not count them. */
export function processIo(processId: number): ProcessIo | undefined {
  const file = `/proc/${processId}/io`;
  if (!existsSync(file)) return undefined;
  const text = readFileSync(file, "utf8");
  const counter = (name: string): number => Number(new RegExp(`^${name}: (\\d+)$`, "m").exec(text)?.[1]);
  return { calls: counter("syscr") + counter("syscw"), bytes: counter("rchar") + counter("wchar") };
}
