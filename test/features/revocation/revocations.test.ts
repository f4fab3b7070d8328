import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { revocations } from "../../../src/features/revocation/revocations.ts";
import type { Revocation } from "../../../src/features/revocation/revocations.ts";
import { platformNames } from "../../../src/machinery/api/names.ts";
import type { HookContext } from "../../../src/machinery/registry/definition/resource-definition.ts";
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

describe("a revocation", () => {
  const minutes = (count: number): string => new Date(count * 60_000).toISOString();
  /** The fields that are wrong. The time is the start of 1970. */
  const faultyFields = (spec: Revocation["spec"]): string[] =>
    messages(validate?.({ ...of(""), spec }, context)).map((message) => message.split(":", 1).join());
  const robot = { namespace: "ci", name: "robot" };
  const digest = "ab".repeat(32);

  it("names tokens or certificates in one way", () => {
    for (const spec of [
      { token: { id: "a" } },
      { token: { id: "x".repeat(1024) } },
      { token: { issuedBefore: minutes(5) } },
      { token: { serviceAccount: robot } },
      { token: { serviceAccount: robot, issuedBefore: minutes(5) } },
      { certificate: { fingerprint: digest } },
      { certificate: { issuer: "CN=a", serialNumber: "0" } },
      { certificate: { issuer: "CN=a", serialNumber: "f".repeat(80) } },
      { certificate: { subject: "CN=a", issuedBefore: minutes(5) } },
    ]) {
      assert.deepEqual(faultyFields(spec), [], JSON.stringify(spec));
    }
  });

  it("names what is wrong with it", () => {
    const [token, certificate] = ["spec.token", "spec.certificate"];
    for (const [spec, ...fields] of [
      [{}, "spec"],
      [{ token: { id: "a" }, certificate: { subject: "CN=a" } }, certificate],
      [{ token: {} }, token],
      [{ token: { id: "" } }, `${token}.id`],
      [{ token: { id: "x".repeat(1025) } }, `${token}.id`],
      [{ token: { id: "a", serviceAccount: robot } }, `${token}.id`],
      [{ token: { id: "a", issuedBefore: minutes(0) } }, `${token}.id`],
      [{ token: { issuedBefore: minutes(6) } }, `${token}.issuedBefore`],
      [{ token: { serviceAccount: { ...robot, namespace: "" } } }, `${token}.serviceAccount.namespace`],
      [{ token: { serviceAccount: { ...robot, name: "" } } }, `${token}.serviceAccount.name`],
      [{ token: { serviceAccount: robot, issuedBefore: minutes(6) } }, `${token}.issuedBefore`],
      [{ certificate: {} }, certificate],
      [{ certificate: { fingerprint: digest, subject: "CN=a" } }, certificate],
      [{ certificate: { fingerprint: digest, serialNumber: "1" } }, certificate],
      [{ certificate: { fingerprint: digest, issuedBefore: minutes(0) } }, `${certificate}.issuedBefore`],
      [{ certificate: { fingerprint: `a${digest}` } }, `${certificate}.fingerprint`],
      [{ certificate: { fingerprint: `${digest}a` } }, `${certificate}.fingerprint`],
      [{ certificate: { fingerprint: digest.toUpperCase() } }, `${certificate}.fingerprint`],
      [{ certificate: { issuer: "CN=a" } }, `${certificate}.serialNumber`],
      [{ certificate: { serialNumber: "1" } }, `${certificate}.issuer`],
      [{ certificate: { issuer: "CN=a", serialNumber: "01" } }, `${certificate}.serialNumber`],
      [{ certificate: { issuer: "CN=a", serialNumber: "f".repeat(81) } }, `${certificate}.serialNumber`],
      [{ certificate: { issuer: "a", serialNumber: "x" } }, `${certificate}.issuer`, `${certificate}.serialNumber`],
      [{ certificate: { subject: "CN=a", issuedBefore: minutes(6) } }, `${certificate}.issuedBefore`],
    ] as const) {
      assert.deepEqual(faultyFields(spec), fields, JSON.stringify(spec));
    }
  });

  it("gives a reason of RFC 5280, or none", () => {
    assert.deepEqual(faultyFields({ token: { id: "a" }, reason: "keyCompromise" }), []);
    assert.deepEqual(faultyFields({ token: { id: "" }, reason: "because" }), ["spec.token.id", "spec.reason"]);
  });
});
