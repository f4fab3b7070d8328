/**
 * Informers with broken connections against concurrent writes and compactions; prints what they missed.
 *
 *   npm run test:soak -- [--seconds N] [--informers N] [--writers N] [--seed N] [-- FLAGS OF serve]
 */
import { programFlags, randomSeed, wholeNumber, words } from "../../../tools/program-flags.ts";
import { runSoak } from "./soak-run.ts";

const { seconds, informers, writers, seed, flags } = programFlags(import.meta.filename, {
  seconds: wholeNumber(60),
  informers: wholeNumber(20),
  writers: wholeNumber(32),
  seed: randomSeed(),
  flags: words(),
});
/** The process settles on a level: history is bounded, and so is everything that a watch holds. */
const allowedGrowth = 1.3;

console.log(`soak: ${seconds} s, ${informers} informers, ${writers} writers, seed ${seed} ${flags.join(" ")}`.trim());
const report = await runSoak({ seconds, informers, writers, seed, flags });
const { steady, end, afterwards } = report.residentMebibytes;
const violations = [...report.violations];
if (steady !== undefined && afterwards > steady * allowedGrowth)
  violations.push("the memory did not come back to its level");
for (const violation of violations.slice(0, 50)) console.error(violation);
console.log(
  `${report.writes} writes, ${report.events} events to informers over ${report.watches} watches and ${report.lists} lists, ` +
    `${report.cuts} connections cut, ${report.compactions} compactions, ` +
    `resident ${steady?.toFixed(0) ?? "?"} MiB with full histories, ${end.toFixed(0)} MiB at the end, ${afterwards.toFixed(0)} MiB afterwards, ` +
    `${violations.length} violations`,
);
process.exitCode = violations.length === 0 ? 0 : 1;
