import { readFileSync } from "node:fs";
import { processLimit } from "../../files/process-limit.ts";

/**
 * Throws when this process may not map so many more bytes of address space. LMDB would fail to map the file, and then end the process
 * with SIGSEGV.
 */
export function checkAddressSpace(neededBytes: number): void {
  const limit = processLimit("Max address space");
  if (!Number.isFinite(limit) || limit - usedBytes() >= neededBytes) return;
  const needed = `${neededBytes / 2 ** 30} GiB of address space, which are no memory`;
  throw new Error(`the store needs ${needed}: raise this process's limit of it (ulimit -v, systemd's LimitAS=)`);
}

const usedBytes = (): number =>
  Number(/^VmSize:\s+(\d+) kB/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) * 1024;
