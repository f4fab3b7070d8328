import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decodeContinueToken, encodeContinueToken } from "../../../../src/machinery/registry/reads/continue-token.ts";

const tokenOf = (content: unknown): string => Buffer.from(JSON.stringify(content)).toString("base64url");
const good = { v: "meta.k8s.io/v1", rv: 7, start: "default/a" };

describe("a continue token", () => {
  it("is read as it was made, also for the rest of a list whose revision is gone", () => {
    for (const revision of [-1, 1, Number.MAX_SAFE_INTEGER]) {
      const point = { revision, start: "default/a" };
      assert.deepEqual(decodeContinueToken(encodeContinueToken(point)), point);
    }
  });

  for (const [what, token, fault] of [
    ["in another alphabet", "a+b/", "illegal base64 data at input byte 1"],
    ["of an impossible length", "abcde", "illegal base64 data at input byte 4"],
    ["that is no JSON", Buffer.from("{").toString("base64url"), ""],
    ["that is no object", tokenOf(null), "not an object"],
    ["that is a text", tokenOf("a"), "not an object"],
    ["of another version", tokenOf({ ...good, v: "meta.k8s.io/v2" }), "this encoded version meta.k8s.io/v2"],
    ...[0, -2, 1.5, 2 ** 53, "7", undefined].map(
      (rv) => [`of revision ${rv}`, tokenOf({ ...good, rv }), "incorrect encoded start resourceVersion"] as const,
    ),
    ...["", 7, undefined].map((start) => [`from ${start}`, tokenOf({ ...good, start }), "start key empty"] as const),
  ] as const) {
    it(`is refused: one ${what}`, () => {
      assert.throws(
        () => decodeContinueToken(token),
        (error: Error & { code?: unknown }) => error.code === 400 && error.message.includes(fault),
      );
    });
  }
});
