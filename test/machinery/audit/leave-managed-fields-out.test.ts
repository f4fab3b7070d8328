import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { leaveManagedFieldsOut } from "../../../src/machinery/audit/leave-managed-fields-out.ts";

const managedFields = [{ manager: 'a "b" \\', fieldsV1: { "f:data": { "f:]}": {} } } }];

describe("leaveManagedFieldsOut", () => {
  it("leaves out those of an object, wherever they are in its metadata", () => {
    for (const [json, expected] of [
      ['{"metadata":{"managedFields":[]}}', '{"metadata":{}}'],
      ['{"metadata":{"managedFields":[{"a":"]}"}],"name":"b"}}', '{"metadata":{"name":"b"}}'],
      ['{"metadata":{"name":"b","managedFields":null},"data":{}}', '{"metadata":{"name":"b"},"data":{}}'],
      ['{"metadata":{"name":"a","managedFields":[[],{}],"uid":"c"}}', '{"metadata":{"name":"a","uid":"c"}}'],
    ] as const) {
      assert.equal(leaveManagedFieldsOut(json), expected);
    }
  });

  it("leaves out those of all items of a list, and of the objects of a table", () => {
    const object = { metadata: { name: "a", managedFields } };
    const bare = { metadata: { name: "a" } };
    for (const [one, expected] of [
      [
        { metadata: {}, items: [object, object] },
        { metadata: {}, items: [bare, bare] },
      ],
      [
        { rows: [{ cells: [1], object }, { object: null }] },
        { rows: [{ cells: [1], object: bare }, { object: null }] },
      ],
    ]) {
      assert.deepEqual(JSON.parse(leaveManagedFieldsOut(JSON.stringify(one))), expected);
    }
  });

  it("keeps what is called so elsewhere, and everything else", () => {
    const piece = fc.constantFrom("managedFields", "metadata", "items", "rows", '"managedFields":[', "\\", "]},", "a");
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: "small" },
        piece,
        fc.constantFrom(null, true, -1.5),
        fc.array(tie("tree"), { maxLength: 3 }),
        fc.dictionary(piece, tie("tree"), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom("spec", "status", "managedFields"), tree), (content) => {
        const json = JSON.stringify({ ...content, metadata: { name: "a" } });
        assert.equal(leaveManagedFieldsOut(json), json);
        const managed = JSON.stringify({ ...content, metadata: { managedFields, name: "a" } });
        assert.equal(leaveManagedFieldsOut(managed), json);
      }),
    );
  });
});
