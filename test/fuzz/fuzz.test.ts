import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { FuzzReport } from "./run-fuzz.ts";
import { runFuzz } from "./run-fuzz.ts";
import { startInProcessTarget } from "./targets/in-process-target.ts";
import { startProcessTarget } from "./targets/process-target.ts";

/** A short run whose inputs are always the same; `npm run test:fuzz` makes a million, and judges time and memory too. */
const seed = 9;

const expectNothingFound = ({ finds, statuses }: FuzzReport, inputs: number): void => {
  assert.deepEqual(
    finds.map(({ fault, index, answer }) => `${fault} (seed ${seed}, input ${index}): ${answer}`),
    [],
  );
  assert.ok((statuses.get(200) ?? 0) + (statuses.get(201) ?? 0) > inputs / 8, "some inputs are accepted");
};

describe("changed requests of every kind", () => {
  for (const profile of ["platform", "kubernetes"] as const) {
    it(`are answered without a fault by the chain of profile ${profile}`, async () => {
      const inputs = 400;
      expectNothingFound(await runFuzz({ profile, seed, inputs, startTarget: startInProcessTarget }), inputs);
    });
  }

  it("are handled without a fault over HTTP/1.1 and HTTP/2 by a server in a separate process", async () => {
    const inputs = 300;
    expectNothingFound(await runFuzz({ profile: "platform", seed, inputs, startTarget: startProcessTarget }), inputs);
  });
});
