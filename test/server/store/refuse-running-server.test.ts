import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { UsageError } from "../../../src/machinery/command-line/settings/flag.ts";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { storedEntry } from "../../../src/machinery/storage/stored-entries.ts";
import { refuseRunningServer } from "../../../src/server/store/refuse-running-server.ts";

const key = "/registry/leases.coordination.platform.io/platform-system/signet-controllers";

describe("a command that no server may run beside", () => {
  let store: MemoryStore;
  let passedMilliseconds: number;
  let said: string[];
  beforeEach(() => {
    store = new MemoryStore();
    passedMilliseconds = 0;
    said = [];
  });

  async function writeLease(spec: object): Promise<void> {
    const { modRevision = 0 } = (await storedEntry(store, key)) ?? {};
    await store.write({ key, value: Buffer.from(JSON.stringify({ spec })), expectedRevision: modRevision });
  }
  /** Asks while something else happens: `meanwhile` is called with the milliseconds that have passed. */
  const refuse = (
    meanwhile: (passed: number) => Promise<void> = async () => {},
    signal = new AbortController().signal,
  ) =>
    refuseRunningServer(store, {
      sleep: async (milliseconds) => meanwhile((passedMilliseconds += milliseconds)),
      signal,
      onWait: (text) => said.push(text),
    });
  const held = { holderIdentity: "one", leaseDurationSeconds: 15 };

  it("is refused where a server renews its lease, however wrong that one's clock is", async () => {
    for (const renewTime of ["2001-01-01T00:00:00.000000Z", "2101-01-01T00:00:00.000000Z"]) {
      await writeLease({ ...held, renewTime });
      const renews = async (passed: number): Promise<void> => {
        if (passed % 4000 === 0) await writeLease({ ...held, renewTime });
      };
      await assert.rejects(
        refuse(renews),
        (error) => error instanceof UsageError && /stop all servers/.test(error.message),
      );
    }
  });

  it("is refused where another server takes the lease over, from one that was killed or has released it", async () => {
    for (const [holderIdentity, takenAfter] of [
      ["one", 23_000],
      ["", 4000],
    ] as const) {
      await writeLease({ ...held, holderIdentity });
      const takesOver = async (passed: number): Promise<void> => {
        if (passed === takenAfter) await writeLease({ ...held, holderIdentity: "two" });
      };
      await assert.rejects(refuse(takesOver), UsageError);
      passedMilliseconds = 0;
    }
  });

  it("runs where nobody has renewed the lease for longer than any candidate waits, also when its times are in the future", async () => {
    await writeLease({ ...held, renewTime: "2101-01-01T00:00:00.000000Z" });
    await refuse();
    assert.equal(passedMilliseconds, 25_000);
    assert.deepEqual(said, ["looking for 25 seconds whether a server still uses etcd"]);
  });

  it("runs at once where the loops of no server have ever run", async () => {
    await refuse();
    assert.deepEqual([passedMilliseconds, said], [0, []]);
  });

  it("ends with Ctrl-C while it looks", async () => {
    await writeLease(held);
    const interruption = new AbortController();
    const interrupt = async (): Promise<void> => interruption.abort(new Error("ended"));
    await assert.rejects(refuse(interrupt, interruption.signal), /ended/);
    assert.equal(passedMilliseconds, 1000);
  });
});
