import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ResourceAttributes } from "../../../src/machinery/api/attributes.ts";
import type { Headers } from "../../../src/machinery/api/http-message.ts";
import { platformNames } from "../../../src/machinery/api/names.ts";
import type { UserInfo } from "../../../src/machinery/api/user-info.ts";
import { createImpersonation } from "../../../src/features/access/credentials/impersonation.ts";

const caller: UserInfo = { username: "admin", groups: ["system:masters"], extra: {} };

/** Allows what `isAllowed` says, and keeps what was asked: `group/resource/subresource namespace name`. */
function impersonation(isAllowed: (asked: string) => boolean = () => true) {
  const asked: string[] = [];
  const impersonate = createImpersonation({
    names: platformNames,
    impersonationOnly: { users: [], groups: [] },
    authorize: (attributes) => {
      const { group, resource, subresource, namespace, name, verb, user } = attributes as ResourceAttributes;
      assert.equal(verb, "impersonate");
      assert.equal(user, caller);
      const text = [group, resource, subresource, namespace, name].join(" ");
      asked.push(text);
      return { decision: isAllowed(text) ? "allow" : "noOpinion", reason: "" };
    },
  });
  return { asked, as: async (headers: Headers) => impersonate(headers, caller) };
}

const groupsOf = async (headers: Headers): Promise<readonly string[]> => (await impersonation().as(headers)).groups;

describe("impersonation", () => {
  it("does nothing for a request without its headers", async () => {
    const test = impersonation();
    assert.equal(await test.as({ accept: "x" }), caller);
    assert.deepEqual(test.asked, []);
  });

  it("authorizes each part separately", async () => {
    const test = impersonation();
    const user = await test.as({
      "impersonate-user": "alice",
      "impersonate-group": ["dev", "ops"],
      "impersonate-uid": "u-1",
      "impersonate-extra-scopes": ["view", "edit"],
    });
    assert.deepEqual(user, {
      username: "alice",
      uid: "u-1",
      groups: ["dev", "ops", "system:authenticated"],
      extra: { scopes: ["view", "edit"] },
    });
    assert.deepEqual(test.asked, [
      " users   alice",
      " groups   dev",
      " groups   ops",
      "authentication.platform.io userextras scopes  view",
      "authentication.platform.io userextras scopes  edit",
      "authentication.platform.io uids   u-1",
    ]);
  });

  it("names the missing permission in the error", async () => {
    const headers = { "impersonate-user": "alice", "impersonate-group": "dev", "impersonate-extra-k": "v" };
    const refusal = async (lacking: string) => impersonation((asked) => !asked.includes(lacking)).as(headers);
    await assert.rejects(refusal("alice"), {
      code: 403,
      message:
        'users "alice" is forbidden: User "admin" cannot impersonate resource "users" in API group "" at the cluster scope',
      details: { name: "alice", kind: "users" },
    });
    await assert.rejects(refusal("dev"), { details: { name: "dev", kind: "groups" } });
    await assert.rejects(refusal("userextras"), {
      details: { name: "v", group: "authentication.platform.io", kind: "userextras" },
    });
  });

  it("requires a user name", async () => {
    for (const headers of [
      { "impersonate-group": "g" },
      { "impersonate-uid": "u" },
      { "impersonate-extra-k": "v" },
      { "impersonate-user": "", "impersonate-group": "g" },
    ]) {
      await assert.rejects(impersonation().as(headers), { code: 400 });
    }
  });

  it("of a service account requires a permission on the account, and adds its groups unless some are given", async () => {
    const test = impersonation();
    const username = "system:serviceaccount:ns:bob";
    assert.deepEqual((await test.as({ "impersonate-user": username })).groups, [
      "system:serviceaccounts",
      "system:serviceaccounts:ns",
      "system:authenticated",
    ]);
    assert.deepEqual(test.asked, [" serviceaccounts  ns bob"]);
    assert.deepEqual(await groupsOf({ "impersonate-user": username, "impersonate-group": "g" }), [
      "g",
      "system:authenticated",
    ]);
  });

  it("of an impossible account name is that of a plain user", async () => {
    for (const name of ["only", "a:b:c", "UPPER:x", ":x", "ns:", ""]) {
      const test = impersonation();
      const user = await test.as({ "impersonate-user": `system:serviceaccount:${name}` });
      assert.deepEqual(user.groups, ["system:authenticated"]);
      assert.match(test.asked[0] ?? "", /^ users/);
    }
  });

  it("adds the matching standard group once", async () => {
    const as = (user: string, ...groups: string[]) =>
      groupsOf({ "impersonate-user": user, "impersonate-group": groups });
    assert.deepEqual(await as("alice", "system:authenticated", "g"), ["system:authenticated", "g"]);
    assert.deepEqual(await as("alice", "system:unauthenticated"), ["system:unauthenticated"]);
    assert.deepEqual(await as("system:anonymous"), ["system:unauthenticated"]);
    assert.deepEqual(await as("system:anonymous", "system:authenticated"), [
      "system:authenticated",
      "system:unauthenticated",
    ]);
  });

  it("uses the first of repeated users and uids, and every value of extra in order", async () => {
    const user = await impersonation().as({
      "impersonate-user": ["alice", "bob"],
      "impersonate-uid": ["u1", "u2"],
      "impersonate-extra-dup": ["a", "b,c", "a", ""],
    });
    assert.equal(user.username, "alice");
    assert.equal(user.uid, "u1");
    assert.deepEqual(user.extra, { dup: ["a", "b,c", "a", ""] });
  });

  it("lower-cases extra keys before it decodes them, and keeps invalid escapes", async () => {
    const { extra } = await impersonation().as({
      "impersonate-user": "alice",
      "impersonate-extra-Example.Org%2FTeam": "x",
      "impersonate-extra-%41": "decoded after lower-casing",
      "impersonate-extra-50%": "kept",
      "impersonate-extra-__proto__": "own",
    });
    assert.deepEqual(Object.entries(extra), [
      ["example.org/team", ["x"]],
      ["A", ["decoded after lower-casing"]],
      ["50%", ["kept"]],
      ["__proto__", ["own"]],
    ]);
  });

  it("is not switched off by a Connection header that names it (CVE-2022-23652)", async () => {
    const test = impersonation(() => false);
    await assert.rejects(test.as({ connection: "impersonate-user", "impersonate-user": "alice" }), { code: 403 });
  });

  it("is not asked for by headers with underscores", async () => {
    assert.equal(await impersonation().as({ impersonate_user: "alice" }), caller);
  });
});
