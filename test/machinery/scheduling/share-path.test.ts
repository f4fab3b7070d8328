import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sharePath } from "../../../src/machinery/scheduling/share-path.ts";

const pathOf = (username: string, ...groups: readonly string[]): string =>
  sharePath({ username, groups, extra: {} }).join(" ");

describe("for whom a request counts", () => {
  it("are the service accounts of its namespace, and then the one that sends it", () => {
    assert.equal(
      pathOf("system:serviceaccount:ns:a"),
      "workloads workloads/ns workloads/ns/system:serviceaccount:ns:a",
    );
  });

  it("is the system for its own users and service accounts, and for administrators", () => {
    assert.equal(pathOf("system:platform-controller-manager"), "system system/system:platform-controller-manager");
    assert.equal(pathOf("ada", "system:masters"), "system masters/ada");
    for (const namespace of ["platform-system", "kube-system"]) {
      const account = `system:serviceaccount:${namespace}:signer`;
      assert.equal(pathOf(account), `system system/${namespace} system/${namespace}/${account}`);
    }
  });

  it("is a node only when it has the name and the group of one", () => {
    assert.equal(pathOf("system:node:a", "system:nodes"), "nodes nodes/system:node:a");
    assert.equal(pathOf("system:node:a"), "others others/system:node:a");
    assert.equal(pathOf("a", "system:nodes"), "others others/a");
  });

  it("is nobody in particular for people, anonymous callers and holders of a bootstrap token", () => {
    for (const username of ["ada", "system:anonymous", "system:bootstrap:abcdef", "", "nodes"]) {
      assert.equal(pathOf(username), `others others/${username}`);
    }
  });
});
