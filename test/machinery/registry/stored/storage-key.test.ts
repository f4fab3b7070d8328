import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { nameOfKey, parseStorageKey, storageKey } from "../../../../src/machinery/registry/stored/storage-key.ts";

describe("the key of an object", () => {
  const namespaced = { group: "example.com", plural: "things", scope: "Namespaced" } as const;
  const clusterWide = { ...namespaced, scope: "Cluster" } as const;

  it("leads back to the object's name, also with a colon or a dot in it", () => {
    for (const name of ["one", "system:node:one", "a.b"]) {
      const inNamespace = { namespace: "default", name };
      assert.deepEqual(nameOfKey(namespaced, storageKey(namespaced, inNamespace) ?? ""), inNamespace);
      const inCluster = { namespace: "", name };
      assert.deepEqual(nameOfKey(clusterWide, storageKey(clusterWide, inCluster) ?? ""), inCluster);
    }
  });

  it("says its resource and its path by itself, which no record of the server's keys does", () => {
    const key = storageKey(namespaced, { namespace: "default", name: "one" }) ?? "";
    assert.deepEqual(parseStorageKey(key), { resource: "things.example.com", path: "default/one" });
    assert.equal(parseStorageKey("/keys/tokens"), undefined);
  });

  it("does not exist for a name that reaches into another namespace", () => {
    assert.equal(storageKey(namespaced, { namespace: "a", name: "b/c" }), undefined);
    assert.equal(storageKey(namespaced, { namespace: "a/b", name: "c" }), undefined);
    assert.equal(storageKey(namespaced, { namespace: "", name: "c" }), undefined);
  });
});
