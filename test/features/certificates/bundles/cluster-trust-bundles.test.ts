import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clusterTrustBundles } from "../../../../src/features/certificates/bundles/cluster-trust-bundles.ts";
import type { ClusterTrustBundle } from "../../../../src/features/certificates/bundles/cluster-trust-bundles.ts";
import { names, pem, startedFaultsOfChange, startedFaultsOfNew } from "../../resource-scene.ts";

const definition = clusterTrustBundles(names);
const bundle = (name: string, spec: ClusterTrustBundle["spec"]): ClusterTrustBundle => ({
  apiVersion: "certificates.platform.io/v1beta1",
  kind: "ClusterTrustBundle",
  metadata: { name },
  spec,
});
const anchors = pem("ca1.pem");

describe("the name of a trust bundle", () => {
  const faultsOfName = (name: string, signerName?: string): string[] =>
    definition.validateName(name, {
      isPrefix: false,
      object: bundle(name, { trustBundle: anchors, ...(signerName !== undefined && { signerName }) }),
    });

  it("starts with its signer's name, and ends in a DNS subdomain", () => {
    assert.deepEqual(faultsOfName("example.com:a:x.y", "example.com/a"), []);
    for (const name of [
      "x",
      "example.com:a",
      "example.com/a:x",
      "other.com:a:x",
      "Example.com:a:x",
      "xexample.com:a:x",
    ]) {
      assert.deepEqual(faultsOfName(name, "example.com/a"), [
        "ClusterTrustBundle for signerName example.com/a must be named with prefix example.com:a:",
      ]);
    }
    for (const suffix of ["", "X", "a_b", "a:b", "-a"]) {
      assert.equal(faultsOfName(`example.com:a:${suffix}`, "example.com/a").length, 1, suffix);
    }
  });

  it("has no colon when it has no signer", () => {
    assert.deepEqual(faultsOfName("x.y"), []);
    for (const name of [":x", "x:", "example.com:a:x"]) {
      assert.deepEqual(faultsOfName(name), ['ClusterTrustBundle without signer name must not have ":" in its name']);
    }
  });
});

describe("a trust bundle", () => {
  it("holds anchors, each once", async () => {
    assert.deepEqual(await startedFaultsOfNew(definition, bundle("a", { trustBundle: anchors })), []);
    assert.deepEqual(await startedFaultsOfNew(definition, bundle("a", { trustBundle: anchors + anchors })), [
      'spec.trustBundle: Invalid value: "<value omitted>": duplicate trust anchor (indices [0 1])',
    ]);
    assert.deepEqual(await startedFaultsOfNew(definition, bundle("a", { trustBundle: "" })), [
      'spec.trustBundle: Invalid value: "<value omitted>": at least one trust anchor must be provided',
    ]);
  });

  it("is read in turns, anchor by anchor", async (t) => {
    let milliseconds = 0;
    t.mock.method(performance, "now", () => (milliseconds += 10));
    const turns = t.mock.method(globalThis, "setImmediate");
    await startedFaultsOfNew(definition, bundle("a", { trustBundle: anchors.repeat(5) }));
    assert.equal(turns.mock.callCount(), 5, "when a new bundle is written");
    await startedFaultsOfChange(
      definition,
      bundle("a", { trustBundle: anchors.repeat(7) }),
      bundle("a", { trustBundle: anchors }),
    );
    assert.equal(turns.mock.callCount(), 12, "when it is changed");
  });

  it("of more than 1 MiB is refused without parsing", async () => {
    assert.deepEqual(await startedFaultsOfNew(definition, bundle("a", { trustBundle: "x".repeat(1024 * 1024 + 1) })), [
      "spec.trustBundle: Too long: may not be more than 1048576 bytes",
    ]);
  });

  it("is of a signer with a valid name", async () => {
    const faultsWith = async (signerName: string): Promise<readonly string[]> => [
      ...(await startedFaultsOfNew(definition, bundle("a", { trustBundle: anchors, signerName }))),
      ...(await startedFaultsOfChange(
        definition,
        bundle("a", { trustBundle: anchors, signerName }),
        bundle("a", { trustBundle: anchors, signerName }),
      )),
    ];
    assert.deepEqual(await faultsWith("example.com/a"), []);
    for (const signerName of ["example.com", "example/a", "example.com/a/b", "example.com/A", "example.com/"]) {
      const faults = await faultsWith(signerName);
      assert.equal(faults.length, 2, signerName);
      for (const fault of faults) assert.match(fault, /^spec\.signerName: Invalid value/);
    }
    const tooLong = "spec.signerName: Too long: may not be more than 253 bytes";
    assert.deepEqual(await faultsWith(`${"a.".repeat(126)}aa/x`), [tooLong, tooLong]);
  });

  it("keeps its signer", async () => {
    const previous = bundle("example.com:a:x", { trustBundle: anchors, signerName: "example.com/a" });
    const next = bundle("example.com:a:x", { trustBundle: anchors });
    assert.deepEqual(await startedFaultsOfChange(definition, next, previous), [
      'spec.signerName: Invalid value: "": field is immutable',
    ]);
  });

  it("is parsed again only when it changes", async () => {
    const previous = bundle("a", { trustBundle: "no longer accepted" });
    assert.deepEqual(
      await startedFaultsOfChange(definition, { ...previous, metadata: { name: "a", labels: { b: "c" } } }, previous),
      [],
    );
    assert.equal(
      (await startedFaultsOfChange(definition, bundle("a", { trustBundle: "nothing" }), previous)).length,
      1,
    );
  });
});
