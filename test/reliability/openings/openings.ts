/**
 * Writes to a store while other processes open and close it, and prints what was lost.
 *
 *   npm run test:openings -- [--processes N] [--times N]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programFlags, wholeNumber } from "../../../tools/program-flags.ts";
import { runOpenings } from "./openings-run.ts";

const { processes, times } = programFlags(import.meta.filename, { processes: wholeNumber(3), times: wholeNumber(500) });
const directory = mkdtempSync(join(tmpdir(), "signet-openings-"));
try {
  const { written, losses } = await runOpenings({ directory, processes, times });
  for (const loss of losses) console.error(loss);
  console.log(
    `${processes} processes opened the store ${times} times each: ${written} writes, ${losses.length} losses`,
  );
  process.exitCode = losses.length === 0 ? 0 : 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
