import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { findDamagedPage } from "../../../../src/machinery/storage/backends/find-damaged-page.ts";
import { LmdbStore } from "../../../../src/machinery/storage/backends/lmdb.ts";
import { put } from "../store-contract.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

const pageBytes = 4096;

/** The file of a store with several pages of keys, long values, and lists of free pages. */
async function storeFile(): Promise<Buffer> {
  const directory = temporaryFolder();
  const store = new LmdbStore({ directory, profile: "platform" });
  try {
    for (let round = 0; round < 3; round += 1) {
      const keys = Array.from({ length: 100 }, (_, index) => `/key-${index}`);
      const { entries } = await store.range({ start: "/", end: "0" });
      const revisions = new Map(entries.map(({ key, modRevision }) => [key, modRevision]));
      await Promise.all(
        keys.map((key, index) =>
          store.write({ key, value: Buffer.alloc(index * 60), expectedRevision: revisions.get(key) ?? 0 }),
        ),
      );
      await store.compact(store.latestRevision());
    }
    await put(store, "/last", "{}");
    return readFileSync(join(directory, "store.mdb"));
  } finally {
    await store.close();
  }
}

describe("the check of the pages of a store's file", () => {
  let sound: Buffer;
  before(async () => {
    sound = await storeFile();
  });

  const found = (file: Buffer, { readsLog } = { readsLog: true }) => {
    const damaged = findDamagedPage(
      {
        bytes: () => file.length,
        read: (target, position) => file.copy(target, 0, Math.min(position, file.length)),
      },
      { readsLog },
    );
    return damaged && { page: damaged.page, part: damaged.part };
  };
  const newestMeta = (): number =>
    sound.readBigUInt64LE(0x98) > sound.readBigUInt64LE(pageBytes + 0x98) ? 0 : pageBytes;
  const freeListPage = (): number => Number(sound.readBigUInt64LE(newestMeta() + 0x58));
  const tablesPage = (): number => Number(sound.readBigUInt64LE(newestMeta() + 0x88));
  const firstNode = (page: number): number => page * pageBytes + 24 + sound.readUInt16LE(page * pageBytes + 24);
  const changed = (change: (file: Buffer) => void): Buffer => {
    const file = Buffer.from(sound);
    change(file);
    return file;
  };
  const flip = (position: number) => (file: Buffer) => file.writeUInt8(file.readUInt8(position) ^ 1, position);

  it("finds nothing in a sound file", () => {
    assert.equal(found(sound), undefined);
  });

  it("finds nothing in a file without a transaction", () => {
    const isNew = changed((copy) => {
      for (const meta of [0, pageBytes]) {
        copy.writeBigUInt64LE(0n, meta + 0x98);
        for (const root of [0x58, 0x88]) copy.fill(0xff, meta + root, meta + root + 8);
      }
    });
    assert.equal(found(isNew), undefined);
  });

  it("finds the damage of each page that it reads, and reads only the upper pages of the log when that is wanted", () => {
    const counts = [true, false].map((readsLog) => {
      assert.equal(found(sound, { readsLog }), undefined);
      let damaged = 0;
      for (let page = 2; page < sound.length / pageBytes; page += 1) {
        if (found(changed(flip(page * pageBytes + 18)), { readsLog }) !== undefined) damaged += 1;
      }
      return damaged;
    });
    const [all = 0, withoutLog = 0] = counts;
    assert.ok(withoutLog > 5 && all > withoutLog + 5, counts.join());
  });

  it("finds each changed bit in the headers of pages and nodes, and in the names of the tables", () => {
    const page = tablesPage();
    const positions = [0, 18, 20, 21, 22, 23, 24, 25].map((at) => page * pageBytes + at);
    const node = firstNode(page);
    for (const position of [...positions, node + 4, node + 6, node + 8]) {
      assert.deepEqual(found(changed(flip(position))), { page, part: "objects" }, `byte ${position % pageBytes}`);
    }
  });

  it("finds a key that is not in its place: a search would miss it, or others", () => {
    const places: number[] = [];
    for (let at = sound.indexOf("/key-50"); at >= 0; at = sound.indexOf("/key-50", at + 1)) places.push(at);
    for (const wrong of ["/kex", "/kea"]) {
      assert.ok(places.some((key) => found(changed((file) => file.write(wrong, key))) !== undefined));
    }
  });

  it("finds a page that is in use at two places, or that the file does not have", () => {
    const page = tablesPage();
    const node = firstNode(page);
    const root = node + 8 + sound.readUInt16LE(node + 6) + 40;
    for (const wrong of [BigInt(page), 2n ** 40n]) {
      const file = changed((copy) => copy.writeBigUInt64LE(wrong, root));
      assert.equal(found(file)?.part, "objects");
    }
    assert.ok(found(sound.subarray(0, page * pageBytes)));
  });

  it("finds each changed bit in the numbers of the last transactions with which LMDB would not take the newest state", () => {
    const numbers = [0x98, pageBytes + 0x98];
    const newestPage = newestMeta();
    for (const at of numbers) {
      for (let bit = 0n; bit < 64n; bit += 1n) {
        const file = changed((copy) => copy.writeBigUInt64LE(copy.readBigUInt64LE(at) ^ (1n << bit), at));
        const [first = 0n, second = 0n] = numbers.map((number) => file.readBigUInt64LE(number));
        const isHarmless =
          at === newestPage + 0x98
            ? file.readBigUInt64LE(at) === sound.readBigUInt64LE(at) - 2n // as LMDB writes it itself: see the next test
            : (second > first ? pageBytes : 0) === newestPage;
        const damaged = isHarmless ? undefined : { page: 0, part: "last transaction" };
        assert.deepEqual(found(file), damaged, `bit ${bit} of the number at ${at}`);
      }
    }
  });

  it("finds nothing where the last transaction failed, and LMDB has put back the number that was there before", () => {
    const failed = changed((copy) => {
      const at = newestMeta() + 0x98;
      copy.writeBigUInt64LE(copy.readBigUInt64LE(at) - 2n, at);
    });
    assert.equal(found(failed), undefined);
  });

  describe("of the list of free pages", () => {
    const page = freeListPage;
    /** Where the list has its length, and then its pages. */
    const list = (): number => firstNode(page()) + 8 + sound.readUInt16LE(firstNode(page()) + 6);
    /** A page of the list. */
    const freePage = (): bigint => {
      const numbers = Array.from({ length: Number(sound.readBigInt64LE(list())) }, (_, index) =>
        sound.readBigInt64LE(list() + (index + 1) * 8),
      );
      return numbers.find((number) => number > 0n) ?? assert.fail("the list has no page");
    };
    const changedPage = (wrong: bigint) =>
      found(changed((copy) => copy.writeBigInt64LE(wrong, list() + Number(sound.readBigInt64LE(list())) * 8)));

    it("says that all objects can be read where the list is too long, or has a page that does not exist", () => {
      assert.ok(sound.readBigInt64LE(list()) > 0n, "the list has a page");
      const longer = found(changed((copy) => copy.writeBigInt64LE(2n ** 40n, list())));
      for (const damaged of [changedPage(2n ** 40n), longer]) {
        assert.deepEqual(damaged, { page: page(), part: "free list" });
      }
    });

    it("finds a page that is listed twice, which LMDB would use for two things", () => {
      const twice = changed((copy) => {
        copy.writeBigInt64LE(2n, list());
        for (const index of [1, 2]) copy.writeBigInt64LE(freePage(), list() + index * 8);
      });
      assert.deepEqual(found(twice), { page: page(), part: "free list" });
    });

    it("does not say so where it has a page in use: that page may have old objects, and another one be lost", () => {
      assert.deepEqual(changedPage(BigInt(tablesPage())), { page: page(), part: "objects" });
    });
  });
});
