/**
 * Counts what one request of each workload costs the server: the bytes that it allocates, with the functions that allocate most,
 * its system calls that read or write, and the bytes that these copy.
 *
 *   npm run bench:allocations -- [--requests N] [--show N] [--only WORKLOAD] [-- FLAGS OF serve]
 */
import { parseArgs } from "node:util";
import { measureCosts } from "./measure-costs.ts";

const { values: options, positionals: flags } = parseArgs({
  allowPositionals: true,
  options: {
    requests: { type: "string", default: "5000" },
    show: { type: "string", default: "0" },
    only: { type: "string" },
  },
});
const measured = await measureCosts({
  requests: Number(options.requests),
  flags,
  ...(options.only !== undefined && { only: options.only }),
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
  for (const [place, bytes] of [...allocatedByFunction].slice(0, Number(options.show))) {
    console.log(whole(bytes).padStart(14), place);
  }
}
