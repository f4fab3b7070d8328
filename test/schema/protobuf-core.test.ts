import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { nodeSchema } from "../../src/resources/node-schema.ts";
import { podSchema } from "../../src/resources/pod-schema.ts";
import { decode } from "../../src/schema/decode.ts";
import { decodeProtobuf } from "../../src/schema/protobuf.ts";
import { decodeEnvelope, encodeEnvelope } from "../../src/schema/protobuf-envelope.ts";
import type { ObjectSchema } from "../../src/schema/schema.ts";

interface Golden {
  readonly name: string;
  readonly json: Readonly<Record<string, unknown>>;
  readonly envelope: string;
}

interface Typed {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Objects with every field set, as Kubernetes' Go libraries encode them; see fixtures/README.md. */
const golden = JSON.parse(
  readFileSync(new URL("fixtures/pods-and-nodes.json", import.meta.url), "utf8"),
) as readonly Golden[];

for (const { name, json, envelope } of golden) {
  const schema = (json["kind"] === "Pod" ? podSchema : nodeSchema) as ObjectSchema as ObjectSchema<Typed>;
  const bytes = Buffer.from(envelope, "base64");

  describe(name, () => {
    it("has no field that the schema does not name", () => {
      assert.deepEqual(decode(schema, json).unknownFields, []);
    });

    it("is encoded byte for byte as Kubernetes encodes it", () => {
      assert.equal(encodeEnvelope(schema, decode(schema, json).value).toString("hex"), bytes.toString("hex"));
    });

    it("is decoded to what its JSON says", () => {
      const { raw, apiVersion, kind } = decodeEnvelope(bytes);
      const decoded = decode(schema, { ...decodeProtobuf(schema, raw), apiVersion, kind });
      assert.deepEqual(decoded.value, decode(schema, json).value);
    });
  });
}
