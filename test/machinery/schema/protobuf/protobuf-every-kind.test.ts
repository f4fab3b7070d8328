import { storedResources } from "../../../../src/server/served-kinds.ts";
import { describedReviews } from "../../../../tools/reference/described-reviews.ts";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { kubernetesNames } from "../../../../src/machinery/api/names.ts";
import { compiledPartialMetadata } from "../../../../src/machinery/registry/reads/partial-object-metadata.ts";
import { tokenRequestSchema } from "../../../../src/features/accounts/token-request-schema.ts";
import { compileDecoder } from "../../../../src/machinery/schema/compile-decoder.ts";
import { deleteOptionsSchema, statusSchema } from "../../../../src/machinery/schema/meta-schemas.ts";
import { compileProtobuf } from "../../../../src/machinery/schema/protobuf/protobuf.ts";
import { decodeEnvelope, encodeEnvelope } from "../../../../src/machinery/schema/protobuf/protobuf-envelope.ts";
import type { ObjectSchema } from "../../../../src/machinery/schema/schema.ts";

interface Golden {
  readonly name: string;
  readonly json: Readonly<Record<string, unknown>>;
  readonly envelope: string;
}

interface Typed {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Objects with every field set, as Kubernetes' Go libraries encode them; see ../fixtures/README.md. */
const golden = JSON.parse(readFileSync(new URL("../fixtures/every-kind.json", import.meta.url), "utf8")) as Golden[];

const reviews = describedReviews(kubernetesNames);
const isUpstreams = ({ group }: { readonly group: string }): boolean => group !== kubernetesNames.group("signet");
// Of a kind that is only read there are no objects, and its schema has no more than their metadata.
const stored = storedResources(kubernetesNames).filter(({ verbs }) => verbs?.includes("create") ?? true);
const schemas = new Map<string, unknown>([
  ...[...stored, ...reviews].filter(isUpstreams).map(({ kind, schema }) => [kind, schema] as const),
  ["TokenRequest", tokenRequestSchema],
  ["Status", statusSchema],
  ["DeleteOptions", deleteOptionsSchema],
  ["PartialObjectMetadata", compiledPartialMetadata.schema],
]);

describe("the objects that Kubernetes encoded", () => {
  it("cover every kind that upstream has too", () => {
    assert.deepEqual([...schemas.keys()].sort(), [...new Set(golden.map(({ json }) => String(json["kind"])))].sort());
  });
});

for (const { name, json, envelope } of golden) {
  const schema = schemas.get(String(json["kind"])) as ObjectSchema<Typed>;
  const bytes = Buffer.from(envelope, "base64");

  describe(name, () => {
    it("has no field that the schema does not name", () => {
      assert.deepEqual(compileDecoder(schema)(json).unknownFields, []);
    });

    it("is encoded byte for byte as Kubernetes encodes it", () => {
      assert.equal(
        encodeEnvelope(compileProtobuf(schema), compileDecoder(schema)(json).value).toString("hex"),
        bytes.toString("hex"),
      );
    });

    it("decodes to the same value as its JSON", () => {
      const { raw, apiVersion, kind } = decodeEnvelope(bytes);
      const decoded = compileDecoder(schema)({
        ...compileProtobuf(schema as ObjectSchema).decode(raw),
        apiVersion,
        kind,
      });
      assert.deepEqual(decoded.value, compileDecoder(schema)(json).value);
    });
  });
}
