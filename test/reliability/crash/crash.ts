/**
 * Kills a server while clients write, many times over, and prints what was lost.
 *
 *   npm run test:crash -- [--rounds N] [--clients N] [--seed N] [-- FLAGS OF serve]
 */
import { programFlags, randomSeed, wholeNumber, words } from "../../../tools/program-flags.ts";
import { runCrashRounds } from "./crash-rounds.ts";

const { rounds, clients, seed, flags } = programFlags(import.meta.filename, {
  rounds: wholeNumber(50),
  clients: wholeNumber(32),
  seed: randomSeed(),
  flags: words(),
});
console.log(
  `crash test: ${rounds} rounds, ${clients} clients, seed ${seed}${flags.length > 0 ? `, ${flags.join(" ")}` : ""}`,
);
const started = performance.now();
const report = await runCrashRounds({
  rounds,
  clients,
  seed,
  flags,
  onRound: (round, { acknowledged, losses, violations }) => {
    if (round % 10 === 0) {
      console.log(
        `round ${round}: ${acknowledged} writes acknowledged, ${losses.length} lost, ${violations.length} violations`,
      );
    }
  },
});
for (const fault of [...report.losses, ...report.violations].slice(0, 50)) console.error(fault);
console.log(
  `${report.rounds} rounds (and ${report.killsAtStart} kills while starting) in ${Math.round((performance.now() - started) / 1000)} s: ` +
    `${report.acknowledged} writes acknowledged, ${report.unanswered} unanswered, ${report.events} watch events, ` +
    `${report.losses.length} losses, ${report.violations.length} violations`,
);
process.exitCode = report.losses.length + report.violations.length === 0 ? 0 : 1;
