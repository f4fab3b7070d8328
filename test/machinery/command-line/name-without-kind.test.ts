import assert from "node:assert/strict";
import { it } from "node:test";
import { nameWithoutKind } from "../../../src/machinery/command-line/name-without-kind.ts";

it("the name of an object may be written as -o name prints it, for its own kind alone", () => {
  const roleName = nameWithoutKind("role");
  for (const given of ["a", "role/a", "role.rbac.authorization.k8s.io/a", "role.rbac.authorization.platform.io/a"]) {
    assert.equal(roleName(given), "a");
  }
  for (const given of ["rolebinding/a", "a/b", "role/a/b", "role", ""]) assert.equal(roleName(given), given);
});
