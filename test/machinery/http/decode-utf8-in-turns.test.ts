import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { decodeUtf8InTurns } from "../../../src/machinery/http/decode-utf8-in-turns.ts";
import { requestTurn } from "../../../src/machinery/scheduling/request-turn.ts";
import { decodeUtf8 } from "../../../src/machinery/schema/decode-utf8.ts";

test("a long text that is not UTF-8 lets others come in between, and is cut between characters", async (t) => {
  const text = `${"a€😀".repeat(100_000)}�`;
  const bytes = Buffer.concat([Buffer.from(text.slice(0, -1)), Buffer.of(0xff)]);
  assert.equal(decodeUtf8(bytes), text);
  await nextTurn(); // the turns of other tests end
  let milliseconds = 0;
  t.mock.method(performance, "now", () => (milliseconds += 10)); // each step takes as long as a turn
  await requestTurn({ username: "alice", groups: [], extra: {} });
  let turns = 0;
  let immediate = setImmediate(function next() {
    turns++;
    immediate = setImmediate(next);
  });
  const decoded = await Promise.resolve(decodeUtf8InTurns(bytes)).finally(() => clearImmediate(immediate));
  assert.ok(turns >= 10, `${turns} turns`);
  assert.equal(decoded, text);
});
