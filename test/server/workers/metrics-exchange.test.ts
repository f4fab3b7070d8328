import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { mergeMetrics } from "../../../src/machinery/http/metrics/merge-metrics.ts";
import { answerMilliseconds, MetricsExchange } from "../../../src/server/workers/metrics-exchange.ts";

interface FakeWorker {
  tokens: number;
  watches: number;
  isSilent: boolean;
}

const textOf = ({ tokens, watches }: Pick<FakeWorker, "tokens" | "watches">): string =>
  `# HELP tokens_total Issued.\n# TYPE tokens_total counter\ntokens_total ${tokens}\n` +
  `# HELP watches Open.\n# TYPE watches gauge\nwatches ${watches}\n`;

const worker = (): FakeWorker => ({ tokens: 0, watches: 0, isSilent: false });

/** Workers that answer at once, unless they are silent. `sumsOf` is what a scraper sees that asks one of them. */
function scene() {
  const exchange = new MetricsExchange<FakeWorker>((asked, id) => {
    if (!asked.isSilent) exchange.answered(asked, { id, text: textOf(asked) });
  });
  const sumsOf = async (asking: FakeWorker, others: readonly FakeWorker[]): Promise<string[]> => {
    const text = textOf(asking);
    const merged = mergeMetrics([text, ...(await exchange.collect(others, { asking, text }))]);
    return merged.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  };
  return { exchange, sumsOf };
}

describe("the metrics of all workers", () => {
  it("are the sums of what each of them counts", async () => {
    const { sumsOf } = scene();
    const [one, two] = [worker(), worker()];
    Object.assign(one, { tokens: 3, watches: 1 });
    Object.assign(two, { tokens: 4, watches: 2 });
    assert.deepEqual(await sumsOf(one, [two]), ["tokens_total 7", "watches 3"]);
    one.tokens = 5;
    assert.deepEqual(await sumsOf(two, [one]), ["tokens_total 9", "watches 3"]);
  });

  it("have what a worker told before while it does not answer", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { sumsOf } = scene();
    const [one, two] = [worker(), worker()];
    Object.assign(two, { tokens: 4, watches: 2 });
    assert.deepEqual(await sumsOf(one, [two]), ["tokens_total 4", "watches 2"]);
    two.isSilent = true;
    one.tokens = 1;
    const sums = sumsOf(one, [two]);
    t.mock.timers.tick(answerMilliseconds);
    assert.deepEqual(await sums, ["tokens_total 5", "watches 2"]);
  });

  it("keep what a worker counted that has ended, and nothing else of it", async () => {
    const { exchange, sumsOf } = scene();
    const [one, two, next] = [worker(), worker(), worker()];
    Object.assign(one, { tokens: 3, watches: 1 });
    Object.assign(two, { tokens: 4, watches: 2 });
    await sumsOf(one, [two]);
    exchange.ended(two);
    exchange.answered(two, { id: 1, text: textOf(two) });
    assert.deepEqual(await sumsOf(one, []), ["tokens_total 7", "watches 1"]);
    next.tokens = 1;
    assert.deepEqual(await sumsOf(one, [next]), ["tokens_total 8", "watches 1"]);
    exchange.ended(one);
    assert.deepEqual(await sumsOf(next, []), ["tokens_total 8", "watches 0"]);
  });
});
