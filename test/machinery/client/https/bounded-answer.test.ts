import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { boundedAnswer } from "../../../../src/machinery/client/https/bounded-answer.ts";
import { readText } from "../../../../src/machinery/client/transport.ts";

/** Reads an answer of parts of one byte. */
async function answerOf(parts: number): Promise<string> {
  async function* body(): AsyncGenerator<Uint8Array> {
    for (let part = 0; part < parts; part++) yield Buffer.from("x");
  }
  const answer = await boundedAnswer(async () => ({ status: 200, headers: {}, body: body() }), {
    largestBytes: 2 ** 20,
    largestRefusalBytes: 2 ** 20,
    longestMilliseconds: Infinity,
    schedule: () => assert.fail(),
    signal: undefined,
    late: () => assert.fail(),
  });
  return readText(answer.body);
}

describe("an answer in parts of one byte", () => {
  it("is read while its parts take less memory than it may have", async () => {
    assert.equal((await answerOf(16_384)).length, 16_384);
  });

  it("fails when they take more", async () => {
    await assert.rejects(answerOf(16_385), /the answer has more than 1 MiB/);
  });
});
