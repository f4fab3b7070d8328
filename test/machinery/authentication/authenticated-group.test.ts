import assert from "node:assert/strict";
import { test } from "node:test";
import { withAuthenticatedGroup } from "../../../src/machinery/authentication/authenticated-group.ts";
import { presentedCredential, withCredential } from "../../../src/machinery/authentication/presented-credential.ts";

const user = (username: string, ...groups: string[]) => ({ username, groups, extra: {} });

test("every user is in system:authenticated, but for the anonymous and those whom a group says to be unauthenticated", () => {
  assert.deepEqual(withAuthenticatedGroup(user("alice", "dev")).groups, ["dev", "system:authenticated"]);
  for (const other of [
    user("system:anonymous"),
    user("alice", "system:unauthenticated"),
    user("alice", "system:authenticated"),
  ]) {
    assert.equal(withAuthenticatedGroup(other), other);
  }
});

test("a user in system:authenticated has presented the same credential as before", () => {
  const credential = { type: "token", id: "jti", issuedAtSeconds: 1 } as const;
  const alice = withCredential(user("alice"), credential);
  assert.equal(presentedCredential(withAuthenticatedGroup(alice)), credential);
  assert.equal(presentedCredential(withAuthenticatedGroup(user("bob"))), undefined);
});
