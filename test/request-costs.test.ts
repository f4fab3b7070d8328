import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { measureCosts } from "../bench/profile/measure-costs.ts";
import type { RequestCosts } from "../bench/profile/measure-costs.ts";

interface Limits {
  readonly allocatedBytes: number;
  readonly systemCalls: number;
  readonly copiedBytes: number;
}

/**
 * What a request of each workload may cost: a tenth more than `npm run bench:allocations -- --requests 2000` counted, and a fifth for the
 * cheapest. On a busy machine a request costs up to an eighth more, because fewer share the work of loops. Who makes a request cheaper
 * lowers its limits; who must raise one says why in the commit.
 */
const limits: ReadonlyMap<string, Limits> = new Map([
  ["get", { allocatedBytes: 12_600, systemCalls: 2.2, copiedBytes: 500 }],
  ["list", { allocatedBytes: 122_100, systemCalls: 2.2, copiedBytes: 19_600 }],
  ["selfsubjectreview", { allocatedBytes: 34_500, systemCalls: 2.2, copiedBytes: 1_400 }],
  ["tokenreview", { allocatedBytes: 35_100, systemCalls: 2.2, copiedBytes: 2_490 }],
  ["tokenrequest", { allocatedBytes: 39_200, systemCalls: 2.2, copiedBytes: 1_730 }],
  ["create", { allocatedBytes: 49_500, systemCalls: 16.5, copiedBytes: 42_200 }],
  ["csr-create", { allocatedBytes: 70_300, systemCalls: 16.5, copiedBytes: 44_800 }],
  ["certificate", { allocatedBytes: 334_000, systemCalls: 55, copiedBytes: 147_800 }],
]);

describe("what a request costs", async () => {
  const measured = await measureCosts({
    requests: 500,
    loads: 60, // Node.js needs more of them on a busy machine until it has compiled all
    allowedBytes: new Map([...limits].map(([name, { allocatedBytes }]) => [name, allocatedBytes])),
  });
  for (const [name, limit] of limits) {
    it(`stays below the limits of ${name}`, () => {
      const costs = measured.get(name);
      assert.ok(costs !== undefined);
      const { allocatedBytes, io = { calls: 0, bytes: 0 } } = costs; // not every system counts them
      assert.ok(allocatedBytes < limit.allocatedBytes, `${allocatedBytes} bytes. What allocates most:\n${most(costs)}`);
      assert.ok(io.calls < limit.systemCalls, `${io.calls} system calls that read or write`);
      assert.ok(io.bytes < limit.copiedBytes, `${io.bytes} bytes read and written`);
    });
  }

  it("is measured for every workload of the benchmark", () => {
    assert.deepEqual([...measured.keys()], [...limits.keys()]);
  });
});

const most = ({ allocatedByFunction }: RequestCosts): string =>
  [...allocatedByFunction]
    .slice(0, 20)
    .map(([place, bytes]) => `${Math.round(bytes)} ${place}`)
    .join("\n");
