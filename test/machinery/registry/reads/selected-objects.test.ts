import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { shortTextLength } from "../../../../src/machinery/scheduling/request-turn.ts";
import { parseLabelSelector } from "../../../../src/machinery/api/selectors/parse-label-selector.ts";
import { jsonMember } from "../../../../src/machinery/registry/stored/json-member.ts";
import { encodeStored, StoredObject } from "../../../../src/machinery/registry/stored/stored-object.ts";
import { listObjects } from "../../../../src/machinery/registry/reads/list-objects.ts";
import { parseListOptions } from "../../../../src/machinery/registry/reads/list-options.ts";
import type { ListOptions } from "../../../../src/machinery/registry/reads/list-options.ts";
import { objectSelector } from "../../../../src/machinery/registry/reads/object-selector.ts";
import type { ResourceRegistry } from "../../../../src/machinery/registry/resource-registry.ts";
import { watchObjects } from "../../../../src/machinery/registry/reads/watch-objects.ts";
import { MemoryStore } from "../../../../src/machinery/storage/backends/memory.ts";
import { toyRegistry, toys } from "../toy-resource.ts";
import type { Toy } from "../toy-resource.ts";
import { matchesLabels } from "../../api/selectors/label-selector-model.ts";

describe("a member of an object's JSON", () => {
  it("is found without parsing", () => {
    const names = fc.oneof(fc.constantFrom("labels", "a", '"', "\\", "a\\", "{", "é"), fc.string());
    fc.assert(
      fc.property(fc.dictionary(names, fc.jsonValue()), names, fc.string(), (object, name, rest) => {
        const text = jsonMember(JSON.stringify(object).slice(1) + rest, name);
        const expected: unknown = Object.hasOwn(object, name) ? object[name] : undefined;
        assert.equal(text, expected === undefined ? undefined : JSON.stringify(expected));
      }),
    );
  });
});

describe("a label selector", () => {
  it("selects the same by an object's text as by its labels", () => {
    const word = fc.constantFrom("app", "a", "b", "1", "2");
    const labels = fc.option(fc.dictionary(word, word), { nil: undefined });
    const selector = fc.oneof(
      fc
        .tuple(word, fc.constantFrom("=", "==", "!=", ">1#", "<2#"), word)
        .map(([key, operator, value]) =>
          operator.endsWith("#") ? `${key}${operator.slice(0, -1)}` : `${key}${operator}${value}`,
        ),
      fc
        .tuple(word, fc.constantFrom("in", "notin"), fc.array(word, { minLength: 1, maxLength: 6 }))
        .map(([key, operator, values]) => `${key} ${operator} (${values.join(",")})`),
      word,
      word.map((key) => `!${key}`),
    );
    fc.assert(
      fc.property(labels, labels, fc.array(selector, { minLength: 1, maxLength: 3 }), fc.boolean(), (...drawn) => {
        const [own, annotations, terms, isLong] = drawn;
        const text = terms.join(",");
        const metadata = {
          name: "car",
          namespace: "box",
          ...(own && { labels: own }),
          ...(annotations && { annotations }),
        };
        const toy = {
          kind: "Toy",
          apiVersion: "toys.example.com/v1",
          metadata,
          color: JSON.stringify({ labels: own }) + (isLong ? "x".repeat(shortTextLength) : ""),
        };
        const stored = new StoredObject<Toy>({
          prefix: "",
          key: "/registry/toys.toys.example.com/box/car",
          value: encodeStored(toy),
          revision: 1,
        });
        const labels = parseLabelSelector(text);
        const { matches } = objectSelector(toys, { namespace: "box", name: "", labels, fields: [] });
        for (let look = 0; look < 2; look += 1) {
          assert.equal(matches(stored), matchesLabels(labels, own), text);
        }
      }),
    );
  });
});

describe("a label selector with thousands of terms", () => {
  it("scans the text of an object only a few times", (context) => {
    const metadata = { name: "car", namespace: "box", labels: { app: "v2999" } };
    const value = encodeStored({ kind: "Toy", apiVersion: "toys.example.com/v1", metadata, color: "red" } as Toy);
    const key = "/registry/toys.toys.example.com/box/car";
    const stored = new StoredObject<Toy>({ prefix: "", key, value, revision: 1 });
    const many = Array.from({ length: 3000 }, (_, n) => `v${n}`);
    const selectors = [`app in (${many.join(",")})`, many.map((one) => `!${one}`).join(",")].map((text) =>
      objectSelector(toys, { namespace: "box", name: "", labels: parseLabelSelector(text), fields: [] }),
    );
    const look = context.mock.method(String.prototype, "includes");
    assert.ok(selectors.every(({ matches }) => matches(stored)));
    assert.ok(look.mock.callCount() < 10);
  });
});

/** Toys in ten boxes, with five hundred labels and two colors. */
async function registryOf(count: number): Promise<ResourceRegistry<Toy>> {
  const store = new MemoryStore();
  const registry = toyRegistry({ store });
  for (let n = 0; n < count; n += 1) {
    const [name, namespace] = [`toy-${n}`, `box-${n % 10}`];
    const labels = { shelf: `s${n % 500}` };
    const color = n % 500 === 7 ? "red" : "blue";
    const value = encodeStored({ metadata: { name, namespace, labels }, color } as unknown as Toy); // as decoding gives it
    await store.write({ key: `/registry/toys.toys.example.com/${namespace}/${name}`, value, expectedRevision: 0 });
  }
  await registry.start();
  return registry;
}

const watchOptions = (query: string, namespace = ""): ListOptions<Toy> =>
  parseListOptions(toys, { query: `watch=1&${query}`, namespace, name: "" });

/** The names of the objects that a watch starts with. */
function initialNames(registry: ResourceRegistry<Toy>, options: ListOptions<Toy>): Promise<string[]> {
  const names: string[] = [];
  return new Promise((resolve, reject) => {
    watchObjects(registry, {
      options,
      observer: {
        onChange: (_type, { key }) => names.push(key.slice(key.lastIndexOf("/") + 1)),
        onInitialEventsEnd() {},
        onReady: () => resolve(names),
        onEnd: reject,
      },
    });
  });
}

describe("a list or a watch with a selector", async () => {
  const registry = await registryOf(2000);

  const list = async (query: string, namespace = ""): Promise<string[]> => {
    const options = parseListOptions(toys, { query, namespace, name: "" });
    const { items } = await listObjects(registry, options);
    return Array.from(items, ({ key }) => key.slice(key.lastIndexOf("/") + 1));
  };
  const watched = (query: string, namespace?: string): Promise<string[]> =>
    initialNames(registry, watchOptions(query, namespace));
  const expected = ["toy-1007", "toy-1507", "toy-507", "toy-7"];

  it("parses only objects that match", async (context) => {
    const parse = context.mock.method(JSON, "parse");
    assert.deepEqual((await list("labelSelector=shelf%3Ds7")).sort(), expected);
    assert.equal(parse.mock.callCount(), expected.length);
    assert.deepEqual(await list("fieldSelector=metadata.name%3Dtoy-7"), ["toy-7"]);
    assert.equal(parse.mock.callCount(), expected.length);
  });

  it("finds every object that matches, also one of several values, or what another value excludes", async () => {
    const both = [...expected, "toy-1008", "toy-1508", "toy-508", "toy-8"].toSorted();
    const withoutOne = expected.filter((name) => name !== "toy-7");
    const cases: readonly (readonly [string, readonly string[]])[] = [
      ["labelSelector=shelf in (s7,s8)", both],
      ["labelSelector=shelf in (s7,s8),shelf!=s8", expected],
      ["labelSelector=shelf notin (s8),shelf in (s7)", expected],
      ["labelSelector=shelf==s7", expected],
      ["fieldSelector=color!=blue", expected],
      ["fieldSelector=color=red,metadata.name!=toy-7", withoutOne],
      ["fieldSelector=metadata.name!=toy-7,color=red", withoutOne],
    ];
    for (const [query, names] of cases) {
      const sent = query.replace(/=(.*)/, (_, selector: string) => `=${encodeURIComponent(selector)}`);
      for (let turn = 0; turn < 3; turn += 1) assert.deepEqual((await list(sent)).toSorted(), names, query);
      assert.deepEqual((await watched(sent)).toSorted(), names, query);
    }
  });

  const selectors = ["labelSelector=shelf%3Ds7", "fieldSelector=color%3Dred"];
  for (const query of selectors) {
    it(`looks only at objects that match, once the field was asked for before: ${query}`, async (context) => {
      for (let turn = 0; turn < 2; turn += 1) assert.deepEqual((await list(query)).sort(), expected);
      const all = context.mock.method(registry.cache, "snapshot");
      assert.deepEqual(await list(query), expected);
      assert.deepEqual(await list(`${query}&limit=2`), expected.slice(0, 2));
      for (const read of [list, watched]) {
        assert.deepEqual(await read(query), expected);
        assert.deepEqual(await read(query, "box-7"), expected);
        assert.deepEqual(await read(query, "box-1"), []);
      }
      assert.equal(all.mock.callCount(), 0);
    });
  }
});

describe("watches that start at the same time", () => {
  it("share one index of their label, so that at most the first looks at all objects", async () => {
    const registry = await registryOf(1000);
    const { selector, ...others } = watchOptions("labelSelector=shelf%3Ds7");
    let looks = 0;
    const matches = (stored: StoredObject<Toy>): boolean => {
      looks += 1;
      return selector.matches(stored);
    };
    const starts = Array.from({ length: 50 }, () =>
      initialNames(registry, { ...others, selector: { ...selector, matches } }),
    );
    for (const names of await Promise.all(starts)) assert.deepEqual(names, ["toy-507", "toy-7"]);
    assert.ok(looks <= 1000 + 49 * 2, `${looks} looks`);
  });
});
