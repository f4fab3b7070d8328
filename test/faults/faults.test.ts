import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { skipsEtcd } from "../machinery/storage/etcd/etcd-process.ts";
import { runFault } from "./fault-run.ts";
import { faults } from "./faults.ts";

/** A short round of two faults; `npm run test:faults` makes them all, for longer. */
const names = ["SIGKILL of the etcd leader", "etcd compacted"];

describe("two replicas on three members of etcd", { skip: skipsEtcd, concurrency: true }, () => {
  for (const fault of faults.filter(({ name }) => names.some((start) => name.startsWith(start)))) {
    it(`lose no acknowledged write and no event of a watch: ${fault.name}`, async () => {
      const { acknowledged, losses, violations } = await runFault({
        fault,
        replicas: 2,
        clients: 8,
        seed: 7,
        outageMilliseconds: 2_000,
        calmMilliseconds: 500,
      });
      assert.deepEqual([...losses, ...violations], []);
      assert.ok(acknowledged > 0);
    });
  }
});
