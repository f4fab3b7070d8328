import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { boundedQuestion, certificatesMilliseconds } from "../../../src/server/observation/domain-metrics.ts";
import { answerMilliseconds } from "../../../src/server/workers/metrics-exchange.ts";
import type { Store } from "../../../src/machinery/storage/store.ts";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { InProcess } from "../in-process.ts";
import { startTestServer } from "../../test-server.ts";

describe("a query with a time limit", () => {
  it("returns an answer that comes in time", async () => {
    assert.equal(await boundedQuestion(() => 1, 60_000)(), 1);
    assert.equal(await boundedQuestion(async () => 2, 60_000)(), 2);
  });

  it("returns nothing after an error or after the limit", async () => {
    const fails = boundedQuestion(() => {
      throw new Error("away");
    }, 60_000);
    assert.equal(await fails(), undefined);
    assert.equal(await boundedQuestion(() => new Promise(() => {}), 1)(), undefined);
  });

  it("is not sent again while it is running, but afterwards", async () => {
    const answers: ((value: number) => void)[] = [];
    const ask = boundedQuestion(() => new Promise<number>((resolve) => answers.push(resolve)), 60_000);
    const asked = [ask(), ask()];
    assert.equal(answers.length, 1);
    answers[0]?.(7);
    assert.deepEqual(await Promise.all(asked), [7, 7]);
    const next = ask();
    answers[1]?.(8);
    assert.equal(await next, 8);
  });
});

describe("/metrics of a server whose store does not answer", () => {
  it("has all other metrics", async () => {
    // As etcd, when the network drops what is sent.
    const store: Store = new MemoryStore();
    const revision = store.latestRevision.bind(store);
    const silence = Promise.withResolvers<void>();
    let isSilent = false;
    store.latestRevision = () => (isSilent ? silence.promise.then(revision) : revision());
    const server = await startTestServer({ store });
    try {
      const scrape = async (): Promise<string> => String((await new InProcess(server).send("/metrics")).body);
      assert.match(await scrape(), /^signet_storage_revision \d+$/m);
      isSilent = true;
      const told = await scrape();
      assert.doesNotMatch(told, /^signet_storage_revision \d/m);
      assert.match(told, /^signet_authority_expiry_seconds\{certificate="server CA"\} \d/m);
    } finally {
      isSilent = false;
      silence.resolve();
      await server.stop();
    }
  });
});

it("a worker that still reads all certificates answers for its metrics before the others leave it out", () => {
  assert.ok(certificatesMilliseconds < answerMilliseconds, `${certificatesMilliseconds} of ${answerMilliseconds} ms`);
});
