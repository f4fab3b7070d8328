/**
 * Counts the bytes that the server allocates for one request of each workload, with the functions that allocate most.
 *
 *   npm run bench:allocations -- [--requests N] [--show N] [--only WORKLOAD] [-- FLAGS OF serve]
 */
import { parseArgs } from "node:util";
import { measureAllocations } from "./measure-allocations.ts";

const { values: options, positionals: flags } = parseArgs({
  allowPositionals: true,
  options: {
    requests: { type: "string", default: "5000" },
    show: { type: "string", default: "0" },
    only: { type: "string" },
  },
});
const measured = await measureAllocations({
  requests: Number(options.requests),
  flags,
  ...(options.only !== undefined && { only: options.only }),
});
console.log("workload            bytes a request");
for (const [name, { bytesPerRequest, bytesByFunction }] of measured) {
  console.log(name.padEnd(18), Math.round(bytesPerRequest).toLocaleString("en").padStart(16));
  for (const [place, bytes] of [...bytesByFunction].slice(0, Number(options.show))) {
    console.log(Math.round(bytes).toLocaleString("en").padStart(14), place);
  }
}
