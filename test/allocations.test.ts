import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { measureAllocations } from "../bench/measure-allocations.ts";
import type { Allocations } from "../bench/measure-allocations.ts";

/**
 * Bytes that a request of each workload may allocate: a tenth more than `npm run bench:allocations -- --requests 2000`
 * counted. Who makes a request cheaper lowers its limit; who must raise one says why in the commit.
 */
const limits: ReadonlyMap<string, number> = new Map([
  ["get", 11_700],
  ["selfsubjectreview", 29_700],
  ["tokenreview", 34_000],
  ["tokenrequest", 37_200],
  ["create", 45_300],
  ["csr-create", 73_500],
  ["certificate", 330_000],
]);

describe("the garbage of a request", async () => {
  const measured = await measureAllocations({ requests: 2000 });
  for (const [name, limit] of limits) {
    it(`of ${name} stays below its limit`, () => {
      const found = measured.get(name);
      assert.ok(found !== undefined);
      assert.ok(
        found.bytesPerRequest < limit,
        `${Math.round(found.bytesPerRequest)} bytes, ${limit} are allowed. What allocates most:\n${most(found)}`,
      );
    });
  }

  it("is measured for every workload of the benchmark", () => {
    assert.deepEqual([...measured.keys()], [...limits.keys()]);
  });
});

const most = ({ bytesByFunction }: Allocations): string =>
  [...bytesByFunction]
    .slice(0, 20)
    .map(([place, bytes]) => `${Math.round(bytes)} ${place}`)
    .join("\n");
