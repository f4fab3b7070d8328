import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { kubernetesNames, platformNames } from "../../src/machinery/api/names.ts";
import { storedResources } from "../../src/server/served-kinds.ts";
import type { ObjectSchema, Schema } from "../../src/machinery/schema/schema.ts";

function* objectsIn(schema: Schema): Generator<ObjectSchema> {
  if (schema.type === "array") yield* objectsIn(schema.items);
  else if (schema.type === "map") yield* objectsIn(schema.values);
  else if (schema.type === "object") {
    yield schema;
    for (const field of Object.values(schema.fields)) yield* objectsIn(field.schema);
  }
}

for (const names of [platformNames, kubernetesNames]) {
  const kinds = storedResources(names);

  describe(`the kinds of profile ${names.profile}`, () => {
    it("have plurals and short names of their own", () => {
      const words = kinds.flatMap(({ kind, plural, shortNames = [] }) => [plural, kind.toLowerCase(), ...shortNames]);
      assert.deepEqual([...new Set(words)], words);
    });

    it("are in groups of the profile", () => {
      const foreign = names.profile === "platform" ? "k8s.io" : "platform.io";
      assert.deepEqual(
        kinds.filter(({ group }) => group !== names.group("signet") && group.endsWith(foreign)),
        [],
      );
    });
  });

  for (const { kind, schema, columns, subresources = {}, resetFields = [] } of kinds) {
    describe(`${kind} of profile ${names.profile}`, () => {
      it("describes every field, with a unique number", () => {
        for (const { goType, description, fields } of objectsIn(schema)) {
          assert.notEqual(description, "", goType);
          const numbers = Object.values(fields)
            .filter(({ number }) => number !== 0)
            .map(({ embeddedIn, number }) => [...(embeddedIn ?? []), number].join("."));
          assert.deepEqual([...new Set(numbers)], numbers, goType);
          for (const [name, field] of Object.entries(fields))
            assert.match(field.description, /[.:]$/, `${goType}.${name}`);
        }
      });

      it("names existing fields as those that a write never owns", () => {
        const all = Object.values(subresources).flatMap((one) =>
          one.type === "update" ? (one.resetFields ?? []) : [],
        );
        for (const path of [...resetFields, ...all]) {
          let at: Schema | undefined = schema;
          for (const part of path) at = at?.type === "object" ? at.fields[part]?.schema : undefined;
          assert.ok(at, path.join("."));
        }
      });

      it("describes its columns", () => {
        for (const { name, description } of columns) assert.notEqual(description, "", name);
      });
    });
  }
}
