/**
 * Faults of replicas and of etcd under load, each with separate processes. Prints what was lost and how long recovery
 * took.
 *
 * npm run test:faults -- [--replicas N] [--clients N] [--seed N] [--outage SECONDS] [--only TEXT]
 */
import { needPrograms } from "../../tools/needed-programs.ts";
import { programFlags, randomSeed, text, wholeNumber } from "../../tools/program-flags.ts";
import { runFault } from "./fault-run.ts";
import { faults } from "./faults.ts";

const {
  replicas,
  clients,
  seed,
  outage: outageSeconds,
  only,
} = programFlags(import.meta.filename, {
  replicas: wholeNumber(3),
  clients: wholeNumber(16),
  seed: randomSeed(),
  outage: wholeNumber(20),
  only: text(""),
});
needPrograms(import.meta.filename, ["etcd"]);
console.log(`faults: ${replicas} replicas, 3 members of etcd, ${clients} clients, seed ${seed}`);
let faultCount = 0;
let failures = 0;
for (const fault of faults.filter(({ name }) => name.includes(only))) {
  const report = await runFault({
    fault,
    replicas,
    clients,
    seed,
    outageMilliseconds: outageSeconds * 1_000,
    calmMilliseconds: 2_000,
  });
  const { acknowledged, unknown, events, expired, recovery, losses, violations } = report;
  console.log(
    `${fault.name}: ${acknowledged} writes acknowledged, ${unknown} unknown, ${events} watch events, ${expired} watches ` +
      `told 410; writes again ${recovery}; ${losses.length} losses, ${violations.length} violations`,
  );
  for (const fault of [...losses, ...violations].slice(0, 20)) console.error(`  ${fault}`);
  faultCount += 1;
  failures += losses.length + violations.length;
}
console.log(`${faultCount} faults, ${failures} losses and violations`);
process.exitCode = failures === 0 ? 0 : 1;
