import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { encodeStored } from "../../../../src/machinery/registry/stored/stored-object.ts";
import { apiError, toyBox } from "../toy-resource.ts";
import type { Toy } from "../toy-resource.ts";
import { where, options, patch, overtakeNextWrite } from "./written-box.ts";

describe("a patch", () => {
  it("is 404 for a missing object whatever its body", async () => {
    await assert.rejects(patch(await toyBox(), "{"), apiError(404));
  });

  it("cannot change the kind or give a field another type", async () => {
    const box = await toyBox();
    await box.add("bear");
    await assert.rejects(patch(box, '{"kind":"Other"}'), apiError(422));
    await assert.rejects(patch(box, '{"color":1}'), apiError(422));
  });

  it("warns of unknown and repeated fields, or refuses them", async () => {
    const box = await toyBox();
    await box.add("bear");
    await patch(box, '{"size":1,"metadata":{"labels":{"a":"1","a":"2"}}}');
    assert.deepEqual(box.warnings.toSorted(), ['duplicate field "metadata.labels.a"', 'unknown field "size"']);
    const strict = { options: { ...options, fieldValidation: "Strict" } };
    await assert.rejects(patch(box, '{"size":1}', strict), apiError(422, "strict decoding error"));
    const extra = '[{"op":"add","path":"/color","value":"red","extra":1}]';
    await assert.rejects(patch(box, extra, { ...strict, type: "json" }), apiError(422, "json patch unknown field"));
  });

  it("is refused in the words of a decoder only when its faults are reported", async () => {
    const box = await toyBox();
    await box.add("bear");
    const ignoring = { options: { ...options, fieldValidation: "Ignore" } };
    const cut = "unexpected end of JSON input";
    await assert.rejects(patch(box, "{"), apiError(400, `error decoding patch: ${cut}`));
    await assert.rejects(patch(box, "{", ignoring), { code: 400, message: "Invalid JSON Patch" });
    await assert.rejects(patch(box, "[", { ...ignoring, type: "json" }), { code: 400, message: cut });
    await assert.rejects(patch(box, "[]", ignoring), apiError(422));
  });

  it("warns of a member that the value of a JSON patch repeats in the patch, and where it is in the object", async () => {
    const box = await toyBox();
    await box.add("bear");
    const added = (path: string, value: string): string => `{"op":"add","path":"${path}","value":${value}}`;
    const labels = added("/metadata/labels", '{"a":"1","a":"2","b":"1"}');
    await patch(box, `[${labels},${added("/size", '[{"x":1,"x":2}]')}]`, { type: "json" });
    assert.deepEqual(box.warnings, [
      'json patch duplicate field "[0].value.a"',
      'json patch duplicate field "[1].value[0].x"',
      'duplicate field "metadata.labels.a"',
      'unknown field "size"',
    ]);
    box.warnings.length = 0;
    await patch(box, `[${labels},${added("/metadata/labels/c", '"1"')}]`, { type: "json" });
    assert.deepEqual(box.warnings, ['json patch duplicate field "[0].value.a"']);
  });

  it("has the last value of a member that occurs twice", async () => {
    const box = await toyBox();
    await box.add("bear");
    const { object } = await patch(box, '{"metadata":{"labels":{"a":"1"}},"metadata":{"labels":{"b":"1"}}}');
    assert.deepEqual(object.object.metadata.labels, { b: "1" });
  });

  it("reads a number as it is written: not every whole number is an integer", async () => {
    const box = await toyBox();
    await box.add("bear");
    const add = (value: string) => `{"op":"add","path":"/metadata/generation","value":${value}}`;
    for (const literal of ["600.0", "1e30", "-9223372036854775809"]) {
      const fault = apiError(422, `json: cannot unmarshal number ${literal} into Go struct field ObjectMeta.metadata`);
      await assert.rejects(patch(box, `{"metadata":{"generation":${literal}}}`), fault);
      await assert.rejects(patch(box, `[${add(literal)}]`, { type: "json" }), fault);
      await patch(box, `[${add(literal)},${add("2")}]`, { type: "json" });
      const label = '{"op":"add","path":"/metadata/labels","value":{}}';
      const all = `{"op":"add","path":"/metadata","value":{"name":"bear","generation":${literal}}}`;
      await assert.rejects(patch(box, `[${all},${label}]`, { type: "json" }), fault);
      for (const op of ["copy", "move"]) {
        const take = `{"op":"${op}","from":"/metadata/other","path":"/metadata/generation"}`;
        const other = `{"op":"add","path":"/metadata/other","value":${literal}}`;
        await assert.rejects(patch(box, `[${other},${take}]`, { type: "json" }), fault);
      }
    }
  });

  it("of type apply creates the object once its caller may create", async () => {
    const box = await toyBox();
    const text = JSON.stringify({ kind: "Toy", apiVersion: "toys.example.com/v1", metadata: { name: "bear" } });
    const apply = { type: "apply", options: { ...options, fieldManager: "m" }, manager: "m" };
    const forbidden = { authorizeCreate: () => Promise.reject(new Error("no")) };
    await assert.rejects(patch(box, text, { ...apply, ...forbidden }), /no/);
    assert.equal((await patch(box, text, apply)).isCreated, true);
    await assert.rejects(patch(box, '{"kind":"Toy"}', apply), apiError(400, "invalid object type: /, Kind=Toy"));
    await assert.rejects(patch(await toyBox(), text, { ...apply, subresource: "state" }), apiError(404));
  });

  it("leaves out a field that another version of the server has stored, and tells only of its own unknown fields", async () => {
    const own = '{"color":"red","weight":1}';
    const configuration = `{"kind":"Toy","apiVersion":"toys.example.com/v1","metadata":{"name":"bear"},"color":"red"}`;
    for (const [type, text, unknown] of [
      ["apply", configuration],
      ["merge", '{"color":"red"}'],
      ["merge", own, 'strict decoding error: unknown field "weight"'],
      ["strategic-merge", '{"color":"red"}'],
      ["strategic-merge", own, 'strict decoding error: unknown field "weight"'],
      ["json", '[{"op":"add","path":"/color","value":"red"}]'],
    ] as const) {
      const box = await toyBox();
      const { key, object: bear, revision } = await box.add("bear");
      const value = encodeStored({ ...bear, size: 3 } as Toy);
      await box.store.write({ key, value, expectedRevision: revision, signal: box.caller.signal });
      const strict = { ...options, fieldValidation: "Strict", fieldManager: "m" };
      const patching = patch(box, text, { type, options: strict, manager: "m" });
      if (unknown !== undefined) {
        await assert.rejects(patching, apiError(422, unknown));
        continue;
      }
      const { object } = await patching;
      assert.deepEqual([object.object.color, "size" in object.object], ["red", false], type);
    }
  });

  it("of type apply changes the object that another writer has created meanwhile", async () => {
    const box = await toyBox();
    const toy = { kind: "Toy", apiVersion: "toys.example.com/v1", metadata: { name: "bear" }, color: "red" };
    const labels = { by: "other" };
    overtakeNextWrite(box, () => box.add("bear", { metadata: { labels } }));
    const apply = { type: "apply", options: { ...options, fieldManager: "m" }, manager: "m" };
    const { object, isCreated } = await patch(box, JSON.stringify(toy), apply);
    assert.deepEqual([isCreated, object.object.color, object.object.metadata.labels], [false, "red", labels]);
  });

  it("of type apply without metadata takes the name away from a manager who applied metadata before", async () => {
    const box = await toyBox();
    const toy = { kind: "Toy", apiVersion: "toys.example.com/v1" };
    const apply = { type: "apply", options: { ...options, fieldManager: "m" }, manager: "m" };
    await patch(box, JSON.stringify({ ...toy, metadata: { name: "bear", labels: { a: "b" } } }), apply);
    const nameless = "the name of the object (bear based on URL) was undeterminable: name must be provided";
    await assert.rejects(patch(box, JSON.stringify(toy), apply), apiError(400, nameless));
    await patch(box, JSON.stringify({ ...toy, metadata: {} }), apply);
    assert.equal(box.registry.peek(where)?.object.metadata.labels, undefined);
  });
});
