import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pacedTransport } from "../../../src/agent/connection/paced-transport.ts";
import type { ClientResponse } from "../../../src/machinery/client/transport.ts";

describe("the answers that an agent reads", () => {
  let now: number;
  let rested: number;
  const times = {
    monotonic: { now: () => now },
    sleep: async (milliseconds: number): Promise<void> => {
      now += milliseconds;
      rested += milliseconds;
    },
  };
  /** A body without an end. */
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) yield Buffer.from("\n");
  }
  async function read(chunks: number, work: () => void): Promise<void> {
    [now, rested] = [0, 0];
    const answer: ClientResponse = { status: 200, headers: {}, body: endless() };
    const transport = pacedTransport({ send: async () => answer, close: () => {} }, times);
    const { body } = await transport.send({ method: "GET", path: "/" });
    for await (const _ of body) {
      work();
      if (--chunks === 0) return;
    }
  }

  it("take a fifth of the time at most, however fast a server sends them", async () => {
    await read(10_000, () => (now += 0.5));
    const share = (now - rested) / now;
    assert.ok(share > 0.19 && share < 0.21, `${share}`);
  });

  it("rest for a second at most after a part, whatever else the agent waited for meanwhile", async () => {
    await read(11, () => (now += 60_000));
    assert.equal(rested, 10_000);
  });

  it("do not rest while they are as short as usual", async () => {
    await read(100, () => (now += 0.04));
    assert.equal(rested, 0);
  });
});
