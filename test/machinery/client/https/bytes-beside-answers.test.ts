import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BytesBesideAnswers } from "../../../../src/machinery/client/https/bytes-beside-answers.ts";

const mebibyte = 1024 * 1024;

interface Pace {
  readonly bytesPerSecond: number;
  readonly allowedPerSecond?: number;
  readonly unreadBytes?: number;
}

/** In which second the connection of a server ends that sends so many bytes in each. Undefined: not in an hour. */
function endOf({ bytesPerSecond, allowedPerSecond = 0, unreadBytes = 0 }: Pace): number | undefined {
  const beside = new BytesBesideAnswers();
  for (let second = 1; second <= 3600; second++) {
    beside.allow(allowedPerSecond);
    if (beside.areTooMany({ bytes: second * bytesPerSecond, unreadBytes })) return second;
  }
  return undefined;
}

describe("bytes beside answers", () => {
  it("are too many when they come without end", () => {
    assert.equal(endOf({ bytesPerSecond: 10 * mebibyte }), 1);
    assert.equal(endOf({ bytesPerSecond: mebibyte }), 9);
    assert.equal(endOf({ bytesPerSecond: mebibyte, allowedPerSecond: mebibyte / 2 }), 19);
  });

  it("are never too many at the pace of pings and window updates, or when they are answers", () => {
    assert.equal(endOf({ bytesPerSecond: 64 * 1024 }), undefined);
    assert.equal(endOf({ bytesPerSecond: 100 * mebibyte, allowedPerSecond: 100 * mebibyte }), undefined);
  });

  it("may be answers that are not read yet", () => {
    assert.equal(endOf({ bytesPerSecond: mebibyte, unreadBytes: 20 * mebibyte }), 30);
    const beside = new BytesBesideAnswers();
    assert.equal(beside.areTooMany({ bytes: 20 * mebibyte, unreadBytes: 20 * mebibyte }), false);
    beside.allow(20 * mebibyte);
    assert.equal(beside.areTooMany({ bytes: 20 * mebibyte, unreadBytes: 0 }), false);
  });
});
