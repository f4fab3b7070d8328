import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CountedObjects } from "../../../../src/machinery/storage/watch-cache/counted-objects.ts";
import { prefixRange } from "../../../../src/machinery/storage/key-range.ts";

interface Thing {
  readonly key: string;
  readonly group: string;
  readonly bytes: number;
}

const thing = (index: number, bytes: number): Thing => ({
  key: `/things/${String(index).padStart(3, "0")}`,
  group: index % 2 === 0 ? "even" : "odd",
  bytes,
});

describe("objects whose keys do not tell their group", () => {
  it("are counted once each, also when some change and go before and after they are counted", async () => {
    const counted = new CountedObjects<Thing>({
      range: prefixRange("/things/"),
      groupOf: ({ group }) => group,
      storedBytesOf: ({ bytes }) => bytes,
    });
    const objects = new Map(Array.from({ length: 60 }, (_, index) => [thing(index, 1).key, thing(index, 1)]));
    const replace = (index: number, object: Thing | undefined): void => {
      const { key } = thing(index, 0);
      const previous = objects.get(key);
      if (object === undefined) objects.delete(key);
      else objects.set(key, object);
      counted.replace({ key, object, previous });
    };
    let reads = 0;
    await counted.countLoaded({
      range: ({ start, limit }) => {
        reads += 1;
        if (reads === 2) {
          replace(0, thing(0, 10));
          replace(1, undefined);
          replace(58, thing(58, 10));
          replace(59, undefined);
          replace(61, thing(61, 10));
        }
        const keys = [...objects.keys()].filter((key) => key >= start).toSorted((one, other) => (one < other ? -1 : 1));
        return keys.slice(0, limit).map((key) => objects.get(key) ?? assert.fail());
      },
    });
    assert.ok(reads > 2);
    assert.deepEqual([counted.sizes.of("even"), counted.sizes.of("odd")], [30 + 9 + 9, 30 - 2 + 10]);
  });
});
