import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { revocations } from "../../../src/features/revocation/revocations.ts";
import type { Revocation } from "../../../src/features/revocation/revocations.ts";
import { platformNames } from "../../../src/machinery/api/names.ts";
import type { HookContext } from "../../../src/machinery/registry/resource-definition.ts";
import { messages } from "../resource-scene.ts";

const user = { username: "admin", groups: [], extra: {} };
const context: HookContext = { user, requestedGroup: "", namespace: "", isDryRun: false, now: 0 };
const { validate, validateUpdate } = revocations(platformNames);
const of = (subject: string, labels = {}): Revocation => ({
  apiVersion: "signet.platform.io/v1",
  kind: "Revocation",
  metadata: { name: "one", labels },
  spec: { certificate: { subject } },
});

describe("a revocation of a subject", () => {
  it("names the field when the subject is not a distinguished name", () => {
    assert.match(messages(validate?.(of("foo"), context)).join(), /^spec\.certificate\.subject: [^:]+/);
    assert.deepEqual(validate?.(of("CN=ann,O=ops"), context), []);
  });

  it("keeps a subject that an earlier version stored when something else changes", () => {
    assert.deepEqual(validateUpdate?.(of("foo", { kept: "yes" }), { ...context, previous: of("foo") }), []);
  });
});
