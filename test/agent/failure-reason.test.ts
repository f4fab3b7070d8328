import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { test } from "node:test";
import { failureReason } from "../../src/agent/failure-reason.ts";
import { ApiError } from "../../src/machinery/api/api-error.ts";
import { AnswerTooLarge } from "../../src/machinery/client/transport.ts";

test("the reason of a failure has what a line of a log takes, however long the server's text is", () => {
  const message = `no room ${"x".repeat(2 ** 20)}`;
  const reason = failureReason(new ApiError({ code: 500, message }));
  assert.match(reason, /^no room x+\.\.\. \(1048584 characters\)$/);
  assert.ok(reason.length < 5000);
  assert.equal(failureReason(new ApiError({ code: 500, message: "no room" })), "no room");
});

test("the reason of a failure that is the system's names the path, and says what to do", () => {
  const path = `${import.meta.filename}/folder`;
  try {
    statSync(path);
    assert.fail();
  } catch (error) {
    assert.equal(failureReason(error), `cannot use ${path}: a part of the path is a file, not a folder; name another`);
  }
});

test("the reason of a failure that is an answer of another program says what to do", () => {
  for (const error of [new AnswerTooLarge(2 ** 24), new TypeError("undefined is not iterable")]) {
    assert.match(failureReason(error), /; check the server's URL, and what is in front of it$/);
  }
});
