import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { honestHistory } from "./honest-history.ts";
import { checkAgainstLog } from "./log-order.ts";
import type { Operation } from "./operation.ts";
import { SeededRandom } from "../seeded-random.ts";

const histories = fc
  .record({ seed: fc.nat(), clients: fc.integer({ min: 1, max: 16 }), requestsEach: fc.integer({ min: 1, max: 60 }) })
  .map(({ seed, ...size }) => honestHistory({ random: new SeededRandom(seed), ...size }));

describe("the order that a watch told, for any honest store and whatever is unanswered,", () => {
  it("explains what its clients see", () => {
    fc.assert(
      fc.property(histories, ({ operations, log }) => {
        assert.deepEqual(checkAgainstLog(operations, { log }), { type: "explained" });
      }),
    );
  });

  it("refutes a read of what an acknowledged write had replaced before", () => {
    fc.assert(
      fc.property(histories, fc.nat(), ({ operations, log }, choice) => {
        const stale = log.slice(0, -1).flatMap((event, index) => {
          const replacedBy = log[index + 1];
          const writer = operations.find(
            (operation) =>
              operation.outcome === "done" && "revision" in operation && operation.revision === replacedBy?.revision,
          );
          if (writer === undefined || event.type === "DELETED") return [];
          const when = { invokedAt: writer.returnedAt + 0.001, returnedAt: writer.returnedAt + 10 };
          return [
            { ...when, action: "read", outcome: "found", value: event.value ?? "", revision: event.revision },
          ] as const;
        });
        fc.pre(stale.length > 0);
        const read: Operation | undefined = stale[choice % stale.length];
        assert.ok(read !== undefined);
        assert.equal(checkAgainstLog([...operations, read], { log }).type, "violation");
      }),
    );
  });

  it("refutes it when one acknowledged write is missing from the log", () => {
    fc.assert(
      fc.property(histories, fc.nat(), ({ operations, log }, choice) => {
        const acknowledged = operations.filter((operation) => operation.outcome === "done" && "revision" in operation);
        fc.pre(acknowledged.length > 0);
        const lost = acknowledged[choice % acknowledged.length];
        const rest = log.filter(
          ({ revision }) => lost === undefined || !("revision" in lost) || revision !== lost.revision,
        );
        assert.equal(checkAgainstLog(operations, { log: rest }).type, "violation");
      }),
    );
  });
});
