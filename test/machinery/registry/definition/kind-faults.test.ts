import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { required } from "../../../../src/machinery/api/validation/field-error.ts";
import { withMetadataFaults } from "../../../../src/machinery/registry/definition/kind-faults.ts";

const fault = required("spec", "");
const metadata = { change: [required("change", "")], whole: [required("whole", "")] };
const fieldsOf = (faults: Parameters<typeof withMetadataFaults>[0]): string[] =>
  withMetadataFaults(faults, metadata).map(({ field }) => field);

describe("the faults of a kind", () => {
  it("come after those of the metadata, where no mark says otherwise", () => {
    assert.deepEqual(fieldsOf([fault]), ["change", "whole", "spec"]);
    assert.deepEqual(fieldsOf([]), ["change", "whole"]);
  });

  it("have the metadata's faults in place of their marks", () => {
    assert.deepEqual(fieldsOf(["metadata", fault, "metadata change"]), ["whole", "spec", "change"]);
    assert.deepEqual(fieldsOf(["no metadata", fault]), ["spec"]);
  });
});
