import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clusterTrustBundles } from "../../../src/features/certificates/bundles/cluster-trust-bundles.ts";
import type { ClusterTrustBundle } from "../../../src/features/certificates/bundles/cluster-trust-bundles.ts";
import { faultsOfChange, faultsOfNew, names, pem } from "../resource-scene.ts";

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
  it("holds anchors, each once", () => {
    assert.deepEqual(faultsOfNew(definition, bundle("a", { trustBundle: anchors })), []);
    assert.deepEqual(faultsOfNew(definition, bundle("a", { trustBundle: anchors + anchors })), [
      'spec.trustBundle: Invalid value: "<value omitted>": duplicate trust anchor (indices [0 1])',
    ]);
    assert.deepEqual(faultsOfNew(definition, bundle("a", { trustBundle: "" })), [
      'spec.trustBundle: Invalid value: "<value omitted>": at least one trust anchor must be provided',
    ]);
  });

  it("of more than 1 MiB is refused without parsing", () => {
    assert.deepEqual(faultsOfNew(definition, bundle("a", { trustBundle: "x".repeat(1024 * 1024 + 1) })), [
      "spec.trustBundle: Too long: may not be more than 1048576 bytes",
    ]);
  });

  it("is of a signer with a valid name", () => {
    const faultsWith = (signerName: string): readonly string[] => [
      ...faultsOfNew(definition, bundle("a", { trustBundle: anchors, signerName })),
      ...faultsOfChange(
        definition,
        bundle("a", { trustBundle: anchors, signerName }),
        bundle("a", { trustBundle: anchors, signerName }),
      ),
    ];
    assert.deepEqual(faultsWith("example.com/a"), []);
    for (const signerName of ["example.com", "example/a", "example.com/a/b", "example.com/A", "example.com/"]) {
      const faults = faultsWith(signerName);
      assert.equal(faults.length, 2, signerName);
      for (const fault of faults) assert.match(fault, /^spec\.signerName: Invalid value/);
    }
    const tooLong = "spec.signerName: Too long: may not be more than 253 bytes";
    assert.deepEqual(faultsWith(`${"a.".repeat(126)}aa/x`), [tooLong, tooLong]);
  });

  it("keeps its signer", () => {
    const previous = bundle("example.com:a:x", { trustBundle: anchors, signerName: "example.com/a" });
    const next = bundle("example.com:a:x", { trustBundle: anchors });
    assert.deepEqual(faultsOfChange(definition, next, previous), [
      'spec.signerName: Invalid value: "": field is immutable',
    ]);
  });

  it("is parsed again only when it changes", () => {
    const previous = bundle("a", { trustBundle: "no longer accepted" });
    assert.deepEqual(
      faultsOfChange(definition, { ...previous, metadata: { name: "a", labels: { b: "c" } } }, previous),
      [],
    );
    assert.equal(faultsOfChange(definition, bundle("a", { trustBundle: "nothing" }), previous).length, 1);
  });
});
