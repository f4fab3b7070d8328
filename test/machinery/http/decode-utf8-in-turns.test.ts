import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeUtf8InTurns } from "../../../src/machinery/http/decode-utf8-in-turns.ts";
import { decodeUtf8 } from "../../../src/machinery/schema/decode-utf8.ts";
import { turnsDuringRequest } from "../scheduling/turns-during-request.ts";

test("a long text that is not UTF-8 lets others come in between, and is cut between characters", async (t) => {
  const text = `${"a€😀".repeat(100_000)}�`;
  const bytes = Buffer.concat([Buffer.from(text.slice(0, -1)), Buffer.of(0xff)]);
  assert.equal(decodeUtf8(bytes), text);
  const { result: decoded, turns } = await turnsDuringRequest(t, () => decodeUtf8InTurns(bytes));
  assert.ok(turns >= 10, `${turns} turns`);
  assert.equal(decoded, text);
});
