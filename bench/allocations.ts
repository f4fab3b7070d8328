/**
 * Counts what one request of each workload costs the server: the bytes that it allocates, with the functions that allocate most,
 * its system calls that read or write, and the bytes that these copy.
 *
 *   npm run bench:allocations -- [--requests N] [--show N] [--only WORKLOAD] [-- FLAGS OF serve]
 */
import { oneOf, programFlags, wholeNumber, words } from "../tools/program-flags.ts";
import { workloadNames } from "./load/workloads.ts";
import { measureCosts } from "./profile/measure-costs.ts";

const { requests, show, only, flags } = programFlags(import.meta.filename, {
  requests: wholeNumber(5000),
  show: wholeNumber(0),
  only: oneOf(workloadNames),
  flags: words(),
});
const measured = await measureCosts({
  requests: requests,
  flags,
  ...(only !== undefined && { only }),
});
const whole = (count: number): string => Math.round(count).toLocaleString("en");
console.log("workload           bytes allocated  system calls  bytes copied");
for (const [name, { allocatedBytes, allocatedByFunction, io }] of measured) {
  const columns = [
    whole(allocatedBytes).padStart(15),
    (io?.calls.toFixed(2) ?? "-").padStart(13),
    (io === undefined ? "-" : whole(io.bytes)).padStart(13),
  ];
  console.log(name.padEnd(18), ...columns);
  for (const [place, bytes] of [...allocatedByFunction].slice(0, show)) {
    console.log(whole(bytes).padStart(14), place);
  }
}
