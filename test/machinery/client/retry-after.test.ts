import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { retryAfterSecondsOf } from "../../../src/machinery/client/retry-after.ts";

const date = "Fri, 31 Dec 2027 23:59:30 GMT";
const asksFor = (value: string | undefined, more: object = { date }): number | undefined =>
  retryAfterSecondsOf({ "retry-after": value, ...more });

describe("the wait that an answer asks for", () => {
  it("is a number of seconds", () => {
    assert.equal(asksFor("120"), 120);
    assert.equal(asksFor("0"), 0);
  });

  it("lasts from the answer's own date to the given one", () => {
    assert.equal(asksFor("Sat, 01 Jan 2028 00:00:00 GMT"), 30);
    assert.equal(asksFor("Fri, 31 Dec 2027 00:00:00 GMT"), 0);
    assert.equal(asksFor("Sat, 01 Jan 2028 00:00:00 GMT", {}), undefined);
  });

  it("is a day at most", () => {
    assert.equal(asksFor("9".repeat(400)), 86_400);
    assert.equal(asksFor("Fri, 31 Dec 9998 23:59:59 GMT"), 86_400);
  });

  it("is not known without the header, and with another text in it", () => {
    for (const value of [undefined, "", "soon", "-1", "1.5", "1, 2", "2028-01-01T00:00:00Z", "Sat, 99 Foo"])
      assert.equal(asksFor(value), undefined, String(value));
  });
});
