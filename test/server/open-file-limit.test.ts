import assert from "node:assert/strict";
import { it } from "node:test";
import { connectionLimit } from "../../src/server/open-file-limit.ts";

it("connections leave file descriptors for everything else", () => {
  assert.equal(connectionLimit(10_000, Number.POSITIVE_INFINITY), 10_000);
  assert.equal(connectionLimit(10_000, 1_048_576), 10_000);
  assert.equal(connectionLimit(10_000, 1024), 768);
  assert.equal(connectionLimit(10_000, 128), 64);
  assert.equal(connectionLimit(10_000, 64), 1);
});
