import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  decodeFieldSet,
  difference,
  emptySet,
  intersection,
  isEmpty,
  pathsOf,
  recursiveDifference,
  setOfPath,
  sorted,
  union,
  unionOfAll,
} from "../../../../src/machinery/registry/apply/field-set.ts";
import type { FieldSet } from "../../../../src/machinery/registry/apply/field-set.ts";
import { printPath } from "../../../../src/machinery/registry/apply/path-element.ts";

const element = fc.constantFrom("f:a", "f:b", "f:__proto__", 'k:{"name":"x"}', 'v:"y"');
const path = fc.array(element, { minLength: 1, maxLength: 3 });
const paths = fc.array(path, { maxLength: 6 });
const setOf = (members: readonly (readonly string[])[]): FieldSet => members.map(setOfPath).reduce(union, emptySet);
const sets = paths.map(setOf);
const members = (set: FieldSet): Set<string> => new Set([...pathsOf(set)].map((one) => one.join("/")));
const law = (check: (a: FieldSet, b: FieldSet, c: FieldSet) => void): void =>
  fc.assert(fc.property(sets, sets, sets, check));
const assertSame = (left: FieldSet, right: FieldSet): void => assert.deepEqual(sorted(left), sorted(right));

describe("a field set", () => {
  it("has exactly the paths that were added", () => {
    fc.assert(
      fc.property(paths, (given) => {
        assert.deepEqual(members(setOf(given)), new Set(given.map((one) => one.join("/"))));
      }),
    );
  });

  it("is the same after encoding and decoding", () => {
    law((set) => assert.deepEqual(decodeFieldSet(JSON.parse(JSON.stringify(set))), { ...set }));
    law((set) => assert.deepEqual(sorted(set), set));
  });

  it("has the union of sets", () => {
    law((a, b, c) => {
      assert.deepEqual(members(union(a, b)), new Set([...members(a), ...members(b)]));
      assertSame(union(a, b), union(b, a));
      assertSame(union(a, union(b, c)), union(union(a, b), c));
      assertSame(union(a, a), a);
    });
  });

  it("has the union of any number of sets at once", () => {
    fc.assert(
      fc.property(fc.array(sets), (several) => assertSame(unionOfAll(several), several.reduce(union, emptySet))),
    );
  });

  it("has the intersection of sets", () => {
    law((a, b, c) => {
      assert.deepEqual(members(intersection(a, b)), new Set([...members(a)].filter((one) => members(b).has(one))));
      assertSame(intersection(a, union(b, c)), union(intersection(a, b), intersection(a, c)));
    });
  });

  it("has the difference of sets", () => {
    law((a, b, c) => {
      assert.deepEqual(members(difference(a, b)), new Set([...members(a)].filter((one) => !members(b).has(one))));
      assertSame(union(difference(a, b), intersection(a, b)), a);
      assertSame(difference(a, union(b, c)), difference(difference(a, b), c));
      assert.ok(isEmpty(difference(a, a)));
    });
  });

  it("has a recursive difference, which also removes the paths below a member", () => {
    law((a, b) => {
      const gone = [...members(b)];
      const left = [...members(a)].filter((one) => !gone.some((top) => one === top || one.startsWith(`${top}/`)));
      assert.deepEqual(members(recursiveDifference(a, b)), new Set(left));
    });
  });

  it("has its elements listed once, however many sets are compared with it: for thousands that takes a millisecond", () => {
    for (const operation of [difference, intersection, recursiveDifference]) {
      let listings = 0;
      const elements: FieldSet = new Proxy(
        { "f:mine": {} },
        {
          ownKeys(target) {
            listings++;
            return Reflect.ownKeys(target);
          },
        },
      );
      for (let manager = 0; manager < 10; manager++) {
        operation({ "f:data": { ".": {}, [`f:${manager}`]: {} } }, { "f:data": elements });
      }
      assert.equal(listings, 1, operation.name);
    }
  });

  it("writes each path element in one form, and skips unknown types", () => {
    const fields = { 'k:{"b": 1, "a":"<"}': {}, "x:new": {}, ".": {}, 'v: "z"': {} };
    assert.deepEqual(decodeFieldSet(fields), { 'k:{"a":"\\u003c","b":1}': {}, 'v:"z"': {} });
  });

  it("writes a member with nothing below it in one form", () => {
    const fields = { "f:a": { ".": {} }, "f:b": { ".": {}, "f:c": { ".": {} } } };
    assert.deepEqual(decodeFieldSet(fields), { "f:a": {}, "f:b": { ".": {}, "f:c": {} } });
  });

  it("has the paths of both elements where a client writes one element in two ways", () => {
    const fields = { 'v:"a"': { "f:x": {} }, 'v: "a"': { "f:y": {} } };
    assert.deepEqual(decodeFieldSet(fields), { 'v:"a"': { "f:x": {}, "f:y": {} } });
  });

  it("is stored with its elements in order, at every level", () => {
    const stored = sorted({ "f:b": { "f:d": {}, ".": {}, "f:c": {} }, "f:a": {} });
    assert.equal(JSON.stringify(stored), '{"f:a":{},"f:b":{".":{},"f:c":{},"f:d":{}}}');
    assert.equal(JSON.stringify(sorted({ "f:a": { "f:c": {}, "f:b": {} } })), '{"f:a":{"f:b":{},"f:c":{}}}');
    assert.equal(sorted(stored), stored, "what is in order is not copied");
  });

  it("refuses an invalid field set", () => {
    for (const fields of [1, [], null, { "f:a": 1 }, { "k:[]": {} }, { "k:{": {} }, { "i:x": {} }]) {
      assert.throws(() => decodeFieldSet(fields), SyntaxError, JSON.stringify(fields));
    }
  });

  it("refuses a path that is longer than those of any kind", () => {
    const nested = (levels: number): object => (levels === 0 ? {} : { "f:a": nested(levels - 1) });
    assert.deepEqual(decodeFieldSet(nested(63)), nested(63));
    for (const levels of [64, 5000]) assert.throws(() => decodeFieldSet(nested(levels)), SyntaxError);
  });

  it("refuses an element with more values than the keys of any list, before it parses it: that takes long", (t) => {
    const keys = (count: number): string =>
      `k:{${Array.from({ length: count }, (_, index) => `"a${index}":1`).join(",")}}`;
    const parse = t.mock.method(JSON, "parse");
    for (const element of [keys(9), `v:${"[".repeat(9)}${"]".repeat(9)}`, `v:${"[".repeat(100_000)}`]) {
      assert.throws(() => decodeFieldSet({ [element]: {} }), SyntaxError);
    }
    assert.equal(parse.mock.callCount(), 0);
    const long = `v:${JSON.stringify(",[{".repeat(100))}`;
    assert.deepEqual(decodeFieldSet({ [keys(8)]: {}, [long]: {} }), { [keys(8)]: {}, [long]: {} });
  });

  it("prints its paths as upstream does", () => {
    const set = { "f:spec": { 'k:{"name":"x","port":1}': { ".": {}, "f:a": {} }, 'v:"y"': {}, "i:2": {} } };
    assert.deepEqual([...pathsOf(set)].map(printPath), [
      ".spec[2]",
      '.spec[name="x",port=1]',
      '.spec[="y"]',
      '.spec[name="x",port=1].a',
    ]);
  });
});
