import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { LmdbStore } from "../../../src/machinery/storage/backends/lmdb.ts";
import type { WriteResult } from "../../../src/machinery/storage/store.ts";

/** The chains of writes that this process makes at the same time, each of one key. */
const chains = 4;

interface OpeningsOptions {
  /** Where the store is made. */
  readonly directory: string;
  /** How many processes open and close it at the same time, and how often each. */
  readonly processes: number;
  readonly times: number;
}

interface OpeningsReport {
  readonly written: number;
  /** Writes that were acknowledged and are not there, and errors. */
  readonly losses: readonly string[];
}

/** Writes to a store while other processes open and close it. */
export async function runOpenings({ directory, processes, times }: OpeningsOptions): Promise<OpeningsReport> {
  const store = new LmdbStore({ directory, profile: "platform" });
  const losses: string[] = [];
  const acknowledged = new Map<string, number>();
  const finished = new AbortController();
  const openers = Promise.all(Array.from({ length: processes }, () => openAndClose(directory, times)));
  const writers = Array.from({ length: chains }, async (_, chain) => {
    const key = `/chain/${chain}`;
    for (let number = 1; !finished.signal.aborted && losses.length === 0; number++) {
      const expectedRevision = acknowledged.get(key) ?? 0;
      const result = await store.write({ key, value: Buffer.from(`${number}`), expectedRevision }).catch(String);
      if (typeof result === "string" || !result.isWritten)
        losses.push(`write ${number} of ${key} expects ${expectedRevision}: ${found(result)}`);
      else acknowledged.set(key, result.revision);
    }
  });
  losses.push(...(await openers).flat());
  finished.abort();
  await Promise.all(writers);
  const { entries } = await store.range({ start: "/", end: "0" });
  for (const [key, revision] of acknowledged) {
    const now = entries.find((entry) => entry.key === key)?.modRevision;
    if (now !== revision) losses.push(`${key} has the revision ${now}, acknowledged was ${revision}`);
  }
  const written = store.latestRevision() - 1;
  await store.close();
  return { written, losses };
}

const found = (result: string | WriteResult): string =>
  typeof result === "string" || result.isWritten ? String(result) : `found ${result.current?.modRevision ?? "nothing"}`;

/** Resolves with what the process printed as an error. */
async function openAndClose(directory: string, times: number): Promise<string[]> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "store-opener.ts"), directory, String(times)]);
  let printed = "";
  child.stderr.on("data", (text: Buffer) => (printed += String(text)));
  const [code] = await once(child, "close");
  return code === 0 ? [] : [`a process that opens the store ended with ${String(code)}: ${printed}`];
}
