/**
 * Records what clients see of a few objects while worker processes are killed, or replicas on etcd and etcd's members are,
 * and checks it. Exits with 1 when something was seen that must not be, with 2 when nothing was but a history is undecided.
 *
 *   npm run test:history -- [--seconds N] [--clients N] [--workers N | --replicas N] [--seed N]
 */
import { needPrograms } from "../../../tools/needed-programs.ts";
import { programFlags, randomSeed, wholeNumber } from "../../../tools/program-flags.ts";
import { runHistory } from "./history-run.ts";
import { workersTarget } from "./history-target.ts";
import { replicasTarget } from "../../faults/replicas-target.ts";

const { seconds, clients, workers, replicas, seed } = programFlags(import.meta.filename, {
  seconds: wholeNumber(30),
  clients: wholeNumber(16),
  workers: wholeNumber(2),
  replicas: wholeNumber(0),
  seed: randomSeed(),
});
if (replicas > 0) needPrograms(import.meta.filename, ["etcd"]);
const target = replicas > 0 ? await replicasTarget(replicas) : await workersTarget(workers);
console.log(`history: ${target.name}, ${clients} clients, ${seconds} s, seed ${seed}`);
const report = await runHistory({ target, seconds, clients, seed });
await target.stop();
for (const line of [...report.violations.slice(0, 50), ...report.undecided]) console.error(line);
console.log(
  `${report.operations} operations (${report.unknownOutcomes} of unknown outcome), ${report.faults} faults, ` +
    `${report.watchEvents} watch events over ${report.watches} watches, ${report.violations.length} violations, ${report.undecided.length} undecided`,
);
process.exitCode = report.violations.length > 0 ? 1 : report.undecided.length > 0 ? 2 : 0;
