import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { decodeFacts, differences } from "./facts.ts";
import { schemaFacts } from "./schema-facts.ts";

const unsetTime = "a time that is not set is left out, where Go writes null";
const untypedString = "the error for a value of another JSON type says `string`, not the name of Go's type";

/** Where we differ, and why. */
const known: Readonly<Record<string, string>> = {
  "core/v1.NodeStatus addresses": "a node may have several addresses of a type, so that `type` is no key",
  "certificates/v1.CertificateSigningRequestStatus conditions":
    "a strategic merge patch merges them by type; upstream's replaces the list",
  "certificates/v1.CertificateSigningRequestCondition lastUpdateTime": unsetTime,
  "certificates/v1.CertificateSigningRequestCondition lastTransitionTime": unsetTime,
  "meta/v1.ManagedFieldsEntry operation": untypedString,
  "meta/v1.ObjectMeta managedFields": "an empty list is not left out where it is read: it resets the managers",
};

const upstream = decodeFacts(readFileSync(new URL("upstream-types.txt", import.meta.url), "utf8"));
const found = differences(upstream, schemaFacts());

describe("the schemas of stored kinds", () => {
  it("name every field of upstream's types with its number, type, presence and merge keys", () => {
    assert.deepEqual(
      [...found].filter(([what]) => known[what] === undefined),
      [],
    );
  });

  it("differ from upstream only where the list of known differences says so", () => {
    assert.deepEqual(
      Object.keys(known).filter((what) => !found.has(what)),
      [],
    );
  });
});
