import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BytesBesideAnswers } from "../../../../src/machinery/client/https/bytes-beside-answers.ts";

const mebibyte = 1024 * 1024;

interface Pace {
  readonly bytesPerCheck: number;
  readonly allowedPerCheck?: number;
  readonly unreadBytes?: number;
}

/** At which check the connection of a server ends that sends so many bytes before each. Undefined: not at the first thousand. */
function endOf({ bytesPerCheck, allowedPerCheck = 0, unreadBytes = 0 }: Pace): number | undefined {
  const beside = new BytesBesideAnswers();
  for (let check = 1; check <= 1000; check++) {
    beside.allow(allowedPerCheck);
    if (beside.areTooMany({ bytes: check * bytesPerCheck, unreadBytes })) return check;
  }
  return undefined;
}

describe("bytes beside answers", () => {
  it("are too many when they come without end", () => {
    assert.equal(endOf({ bytesPerCheck: 10 * mebibyte }), 1);
    assert.equal(endOf({ bytesPerCheck: mebibyte }), 22);
    assert.equal(endOf({ bytesPerCheck: 2 * mebibyte, allowedPerCheck: mebibyte }), 22);
  });

  it("are never too many at the pace of pings and window updates, or when they are answers", () => {
    assert.equal(endOf({ bytesPerCheck: 640 * 1024 }), undefined);
    assert.equal(endOf({ bytesPerCheck: 100 * mebibyte, allowedPerCheck: 100 * mebibyte }), undefined);
  });

  it("may be answers that are not read yet", () => {
    assert.equal(endOf({ bytesPerCheck: mebibyte, unreadBytes: 20 * mebibyte }), 75);
    const beside = new BytesBesideAnswers();
    assert.equal(beside.areTooMany({ bytes: 20 * mebibyte, unreadBytes: 20 * mebibyte }), false);
    beside.allow(20 * mebibyte);
    assert.equal(beside.areTooMany({ bytes: 20 * mebibyte, unreadBytes: 0 }), false);
  });
});
