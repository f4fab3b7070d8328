import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { frontProxy } from "../../../../src/features/access/credentials/front-proxy.ts";
import type { Headers } from "../../../../src/machinery/api/http-message.ts";
import { TestClock } from "../../accounts/tokens/token-scene.ts";
import { newAuthority, newCertificate, request } from "../certificate-scene.ts";

const authority = newAuthority("proxies");
const proxy = newCertificate(authority, { subject: { commonName: "proxy" } });

/** Two headers for each part of a user. */
const headers = {
  usernameHeaders: ["x-user", "x-remote-user"],
  uidHeaders: ["x-uid", "x-remote-uid"],
  groupHeaders: ["x-group", "x-remote-group"],
  extraHeaderPrefixes: ["x-extra-", "x-remote-extra-"],
};

const outcomeOf = async (sent: Headers, trusted = [authority.certificate]) =>
  frontProxy({
    headers,
    allowedNames: ["proxy"],
    isUserRequired: false,
    roots: () => trusted,
    clock: new TestClock(),
  }).authenticate(request(sent, [proxy]));

async function userOf(sent: Headers) {
  const answer = await outcomeOf(sent);
  assert.ok(answer.outcome === "authenticated");
  const { username, uid, groups, extra } = answer.user;
  return { username, uid, groups, extra };
}

describe("the user that a front proxy names", () => {
  it("has the first name and uid that are not empty, and all groups and extra values, of all configured headers", async () => {
    const user = await userOf({
      "x-user": "",
      "x-remote-user": "carol",
      "x-uid": "",
      "x-remote-uid": "1000",
      "x-group": ["dev", ""],
      "x-remote-group": "ops",
      "x-extra-scopes": ["a", "b"],
      "x-remote-extra-scopes": "c",
    });
    assert.deepEqual(user, {
      username: "carol",
      uid: "1000",
      groups: ["dev", "ops"],
      extra: { scopes: ["a", "b", "c"] },
    });
    assert.equal((await userOf({ "x-user": "dave", "x-remote-user": "carol" })).username, "dave");
  });

  it("has no uid unless the proxy says one", async () => {
    assert.deepEqual(await userOf({ "x-user": "carol" }), { username: "carol", uid: undefined, groups: [], extra: {} });
  });

  it("is nobody where no CA of proxies is trusted: the client's certificate may be for another credential", async () => {
    assert.deepEqual(await outcomeOf({ "x-user": "carol" }, []), { outcome: "notApplicable" });
  });
});
