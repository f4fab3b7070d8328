import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { lacksPermission } from "../../../src/machinery/client/lacks-permission.ts";

describe("the message of a 403", () => {
  for (const message of [
    'secrets is forbidden: User "ada" cannot list resource "secrets" in API group "" in the namespace "default"',
    'forbidden: User "ada" cannot get path "/metrics"',
    'roles.rbac.authorization.k8s.io "all" is forbidden: user "ada" (groups=["dev"]) is attempting to grant RBAC permissions not currently held',
    'certificatesigningrequests.certificates.k8s.io "a" is forbidden: user not permitted to approve requests with signerName "example.com/a"',
  ]) {
    it(`is about permissions: ${message}`, () => assert.ok(lacksPermission(message)));
  }

  for (const message of [
    "secrets \"a\" is forbidden: ValidatingAdmissionPolicy 'small' with binding 'small' denied request: too large",
    'nodes "a" is forbidden: it exists: to let a new machine have it, signet bootstrap-token create --allow-existing-node',
  ]) {
    it(`is about a rule: ${message}`, () => assert.ok(!lacksPermission(message)));
  }
});
