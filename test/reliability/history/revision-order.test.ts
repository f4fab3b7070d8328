import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { revisionFaults } from "./revision-order.ts";

describe("the order of revisions", () => {
  const write = (invokedAt: number, returnedAt: number, revision: number) =>
    ({ type: "write", invokedAt, returnedAt, revision }) as const;
  const list = (invokedAt: number, returnedAt: number, revision: number) =>
    ({ type: "list", invokedAt, returnedAt, revision }) as const;

  it("is free for concurrent writes", () => {
    assert.deepEqual(revisionFaults([write(0, 5, 3), write(1, 4, 2), list(5, 6, 3), write(7, 8, 4)]), []);
  });

  it("must follow real time for others", () => {
    assert.equal(revisionFaults([write(0, 1, 3), write(2, 3, 2)]).length, 1);
    assert.equal(revisionFaults([write(0, 1, 3), write(2, 3, 3)]).length, 1);
    assert.equal(revisionFaults([write(0, 1, 3), list(2, 3, 2)]).length, 1);
    assert.equal(revisionFaults([list(0, 1, 3), write(2, 3, 3)]).length, 1);
    assert.equal(revisionFaults([list(0, 1, 3), list(2, 3, 3)]).length, 0);
  });
});
