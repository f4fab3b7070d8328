import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { PageLength } from "../../../../src/machinery/storage/etcd/page-length.ts";

const wantedBytes = 16 * 2 ** 20;

/** Reads full pages of entries that are all of one size. */
function readPages(length: PageLength, { count, entryBytes }: { readonly count: number; readonly entryBytes: number }) {
  for (let page = 0; page < count; page++) {
    length.fit({ entries: length.entries, bytes: length.entries * entryBytes });
  }
}

describe("the length of a page", () => {
  it("grows to 1,000 small entries", () => {
    const length = new PageLength();
    readPages(length, { count: 4, entryBytes: 1_000 });
    assert.equal(length.entries, 1_000);
  });

  it("becomes as many entries as fit into 16 MiB, whatever their size", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 64 * 2 ** 20 }), (entryBytes) => {
        const length = new PageLength();
        readPages(length, { count: 12, entryBytes });
        assert.equal(length.entries, Math.min(1_000, Math.max(1, Math.floor(wantedBytes / entryBytes))));
      }),
    );
  });

  it("shrinks after large entries and grows again after small ones", () => {
    const length = new PageLength();
    readPages(length, { count: 1, entryBytes: 1.5 * 2 ** 20 });
    assert.equal(length.entries, 10);
    readPages(length, { count: 7, entryBytes: 1_000 });
    assert.equal(length.entries, 1_000);
  });

  it("does not grow after a page with fewer entries than were asked for", () => {
    const length = new PageLength();
    const { entries } = length;
    length.fit({ entries: entries - 1, bytes: 1_000 });
    length.fit({ entries: 0, bytes: 20 });
    assert.equal(length.entries, entries);
  });

  it("is halved until it is one", () => {
    const length = new PageLength();
    const asked: number[] = [];
    for (let next: number | undefined = 13; next !== undefined; next = length.halve(next)) asked.push(next);
    assert.deepEqual(asked, [13, 6, 3, 1]);
    assert.equal(length.entries, 1);
  });
});
