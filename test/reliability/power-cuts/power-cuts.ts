/**
 * Traces what a store asks of the disk, makes the files that power cuts could leave, opens each, and prints what was lost.
 *
 *   npm run test:power-cuts -- [--rounds N] [--steps-per-cut N] [--seed N]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { needPrograms } from "../../../tools/needed-programs.ts";
import { programFlags, randomSeed, wholeNumber } from "../../../tools/program-flags.ts";
import { runPowerCuts } from "./power-cut-run.ts";

const flags = programFlags(import.meta.filename, {
  rounds: wholeNumber(100),
  "steps-per-cut": wholeNumber(1),
  seed: randomSeed(),
});
needPrograms(import.meta.filename, ["strace"]);
const { rounds, seed, "steps-per-cut": stepsPerCut } = flags;
console.log(`power cuts: ${rounds} rounds, seed ${seed}`);
const directory = mkdtempSync(join(tmpdir(), "signet-power-cuts-"));
try {
  const { acknowledged, cuts, losses } = await runPowerCuts({ directory, rounds, seed, stepsPerCut });
  for (const loss of losses.slice(0, 50)) console.error(loss);
  console.log(`${acknowledged} writes acknowledged, ${cuts} power cuts, ${losses.length} losses`);
  process.exitCode = losses.length === 0 && cuts > 0 ? 0 : 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
