import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { jsonParts, messageParts, prettyParts, yamlTexts } from "../../../../src/machinery/http/resources/list-form.ts";
import type { ListForm } from "../../../../src/machinery/http/resources/list-form.ts";
import { writeYaml } from "../../../../src/machinery/http/yaml/write-yaml.ts";
import { CompiledSchema } from "../../../../src/machinery/registry/definition/compiled-schema.ts";
import {
  encodeEnvelope,
  envelopeEnd,
  envelopeStart,
} from "../../../../src/machinery/schema/protobuf/protobuf-envelope.ts";
import { toys } from "../../registry/toy-resource.ts";

describe("the parts of a list", () => {
  const label = fc.dictionary(fc.string(), fc.string());
  const item = fc.record({ metadata: fc.record({ name: fc.string(), labels: label }), color: fc.string() });
  const items = fc.option(fc.array(item, { maxLength: 4 }), { nil: null });
  const form = fc.record({
    head: fc.record({
      kind: fc.constant("ToyList"),
      apiVersion: fc.constant("toys.example.com/v1"),
      metadata: fc.record(
        { resourceVersion: fc.string(), continue: fc.string() },
        { requiredKeys: ["resourceVersion"] },
      ),
    }),
    member: fc.constantFrom("items", "rows"),
    items,
  });
  const wholeOf = ({ head, member, items: all }: ListForm): object => ({ ...head, [member]: all });

  it("together are the encoding of the whole list, as JSON, indented JSON and YAML", () => {
    fc.assert(
      fc.property(form, (one: ListForm) => {
        const whole = wholeOf(one);
        assert.equal([...jsonParts(one)].join(""), `${JSON.stringify(whole)}\n`);
        assert.equal([...prettyParts(one)].join(""), JSON.stringify(whole, undefined, 2));
        assert.equal([...yamlTexts(one)].join(""), writeYaml(whole));
      }),
    );
  });

  it("together are the encoding of the whole list as protobuf", () => {
    const compiled = new CompiledSchema(toys.schema);
    fc.assert(
      fc.property(form, (one) => {
        const list = { ...one.head, items: one.items ?? [] };
        const schemas = { list: compiled.list, item: compiled } as unknown as NonNullable<ListForm["schemas"]>; // of toys
        const message = Buffer.concat([...messageParts({ ...one, member: "items", schemas })]);
        const envelope = Buffer.concat([envelopeStart(one.head, message.length), message, envelopeEnd]);
        const expected = encodeEnvelope(compiled.list.protobuf as never, list);
        assert.equal(envelope.toString("hex"), expected.toString("hex"));
      }),
    );
  });

  it("are made one by one", () => {
    let made = 0;
    function* counted(): Generator<object> {
      for (; made < 10; made += 1) yield {};
    }
    const head = { kind: "ToyList", apiVersion: "v1" };
    for (const parts of [jsonParts, prettyParts, yamlTexts]) {
      made = 0;
      for (const part of parts({ head, member: "items", items: { length: 10, [Symbol.iterator]: counted } })) {
        if (part.includes("items")) break;
      }
      assert.equal(made, 0);
    }
  });
});
