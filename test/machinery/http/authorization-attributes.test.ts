import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { ApiError } from "../../../src/machinery/api/api-error.ts";
import { fieldMatcher, parseFieldSelector } from "../../../src/machinery/api/selectors/field-selector.ts";
import type { FieldSelector } from "../../../src/machinery/api/selectors/field-selector.ts";
import { authorizationAttributes } from "../../../src/machinery/http/authorization-attributes.ts";
import { requestInfo } from "../../../src/machinery/http/request-info.ts";

const path = "/api/v1/namespaces/n/secrets";
const user = { username: "alice", groups: [], extra: {} };
const words = [
  "metadata.name",
  "spec.nodeName",
  "=",
  "==",
  "!=",
  ",",
  "\\",
  "\\,",
  "\\=",
  " ",
  "a",
  "b",
  ".",
  "/",
  "%",
  "\n",
];

const parsed = (text: string): FieldSelector | undefined => {
  try {
    return parseFieldSelector(text);
  } catch (error) {
    assert.ok(error instanceof ApiError);
    return undefined;
  }
};

describe("the attributes that an authorizer gets for a deletion of a collection", () => {
  it("have its selectors, and no name", () => {
    const query = "fieldSelector=metadata.name%3Da&labelSelector=b%3Dc";
    const attributes = authorizationAttributes(requestInfo({ method: "DELETE", path, query }), { user, query });
    assert.ok(attributes.kind === "resource");
    assert.deepEqual([attributes.verb, attributes.name], ["deletecollection", ""]);
    assert.deepEqual([attributes.fieldSelector?.length, attributes.labelSelector?.length], [1, 1]);
  });
});

describe("the attributes that an authorizer gets for a list", () => {
  const askedOf = (method: string, path: string, selector: string) => {
    const query = `fieldSelector=${encodeURIComponent(selector)}`;
    const attributes = authorizationAttributes(requestInfo({ method, path, query }), { user, query });
    assert.ok(attributes.kind === "resource");
    const { verb, name, fieldSelector = [] } = attributes;
    return { verb, name, selected: fieldSelector.map(({ value }) => value).join() };
  };

  it("have the same name and selector for HEAD", () => {
    assert.deepEqual(askedOf("HEAD", path, "metadata.name=a"), { verb: "list", name: "a", selected: "a" });
  });

  it("have the selectors that the list uses, however the names of the parameters are escaped", () => {
    for (const query of [
      "field%53elector=metadata.name%3Da&%6cabelSelector=b",
      "fieldSelector=metadata.name%3Da&labelSelector=b",
    ]) {
      const attributes = authorizationAttributes(requestInfo({ method: "GET", path, query }), { user, query });
      assert.ok(attributes.kind === "resource");
      const { name, fieldSelector, labelSelector } = attributes;
      assert.deepEqual([name, fieldSelector?.length, labelSelector?.length], ["a", 1, 1]);
    }
  });

  it("have no selector on the old watch paths, which may ignore it", () => {
    const old = "/api/v1/watch/namespaces/n/secrets";
    assert.deepEqual(askedOf("GET", old, "metadata.name=a"), { verb: "watch", name: "", selected: "" });
  });

  it("have no name that cannot stand in a path, which no rule would mean", () => {
    for (const name of ["", ".", "..", "a/b", "a%2fb"]) {
      assert.deepEqual(askedOf("GET", path, `metadata.name=${name}`), { verb: "list", name: "", selected: name });
    }
  });

  it("have the first of two names in the order of the terms as texts, as nothing has both", () => {
    for (const selector of ["metadata.name=a,metadata.name=b", "metadata.name=b,metadata.name=a"]) {
      assert.deepEqual(askedOf("GET", path, selector), { verb: "list", name: "a", selected: "a,b" });
    }
  });

  it("have a name only where the selector allows no other name, however it is written", () => {
    const selectors = fc.array(fc.constantFrom(...words), { maxLength: 12 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(selectors, fc.constantFrom("", "&watch=1"), (text, more) => {
        const query = `fieldSelector=${encodeURIComponent(text)}${more}`;
        const attributes = authorizationAttributes(requestInfo({ method: "GET", path, query }), { user, query });
        assert.ok(attributes.kind === "resource");
        const selector = parsed(text);
        // What cannot be read selects nothing: the list is refused, and the authorizer is told of no selector.
        assert.deepEqual(attributes.fieldSelector ?? [], selector ?? []);
        if (attributes.name === "") return;
        assert.ok(selector !== undefined);
        for (const name of ["a", "b", "ab", "a,metadata.name=b", " a", ""].filter((one) => one !== attributes.name)) {
          assert.ok(!fieldMatcher(selector)((field) => (field === "metadata.name" ? name : "a")), JSON.stringify(name));
        }
      }),
      { numRuns: 5000 },
    );
  });
});
