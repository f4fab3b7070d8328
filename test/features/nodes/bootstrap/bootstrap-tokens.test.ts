import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bootstrapTokenIdOf, bootstrapTokens } from "../../../../src/features/nodes/bootstrap/bootstrap-tokens.ts";
import { bootstrapTokenOf } from "../../../../src/features/nodes/bootstrap/bootstrap-token-secret.ts";
import type { Secret } from "../../../../src/features/core/secrets.ts";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import type { UserInfo } from "../../../../src/machinery/api/user-info.ts";
import { TestClock } from "../../accounts/tokens/token-scene.ts";

const base64 = (text: string): string => Buffer.from(text, "utf8").toString("base64");

function secretOf(fields: Readonly<Record<string, string>>): Secret {
  const all = {
    "token-id": "abcdef",
    "token-secret": "0123456789abcdef",
    "usage-bootstrap-authentication": "true",
    ...fields,
  };
  const data = Object.fromEntries(Object.entries(all).map(([key, value]) => [key, base64(value)]));
  const metadata = { name: "bootstrap-token-abcdef", namespace: "platform-system" };
  return { apiVersion: "v1", kind: "Secret", metadata, data };
}

/** Whom the token of a Secret names. Each field is as kube-apiserver 1.35 was asked about it. */
function userOf(
  fields: Readonly<Record<string, string>>,
  {
    token = "abcdef.0123456789abcdef",
    type = "bootstrap.platform.io/token",
    ...meta
  }: { readonly token?: string; readonly type?: string; readonly deletionTimestamp?: string } = {},
): UserInfo | undefined {
  const made = secretOf(fields);
  const secret: Secret = { ...made, metadata: { ...made.metadata, ...meta }, type };
  const find = bootstrapTokens({
    names: platformNames,
    clock: new TestClock(),
    isLocked: (name) => name === "locked",
    findSecret: (name) => (name === secret.metadata.name ? secret : undefined),
  });
  return find(token);
}

describe("a bootstrap token", () => {
  it("is good until its time, which is one of RFC 3339, and for ever without one", () => {
    for (const expiration of ["", "2099-01-01T00:00:00Z", "2099-01-01T00:00:00.5+05:00"]) {
      assert.equal(userOf({ expiration })?.username, "system:bootstrap:abcdef", expiration);
    }
    assert.equal(userOf({ expiration: "2001-01-01T00:00:00Z" }), undefined);
    const now = new TestClock().now();
    assert.equal(userOf({ expiration: new Date(now).toISOString() }), undefined);
    assert.ok(userOf({ expiration: new Date(now + 1).toISOString() }));
  });

  it("has ended when its time cannot be read", () => {
    for (const expiration of [
      ...["tomorrow", "2099", "2099-01-01", "2099-01-01 00:00:00Z", "2099-01-01T00:00:00", "2099-02-30T00:00:00Z"],
      ...["2099-01-01t00:00:00z", "2099-01-01T24:00:00Z", "Thu, 01 Jan 2099 00:00:00 GMT", "2099-01-01T00:00:00Z\n"],
    ]) {
      assert.equal(userOf({ expiration }), undefined, expiration);
    }
  });

  it("is its own secret, of a Secret of its type that is for authentication and not being deleted", () => {
    for (const token of [
      ...["abcdef.0123456789abcdee", "abcdee.0123456789abcdef", "abcdef"],
      ...["abcdef.0123456789abcdef0", "0abcdef.0123456789abcdef"],
    ]) {
      assert.equal(userOf({}, { token }), undefined, token);
    }
    assert.equal(userOf({}, { type: "Opaque" }), undefined);
    assert.equal(userOf({}, { deletionTimestamp: "2099-01-01T00:00:00Z" }), undefined);
    assert.equal(userOf({ "token-id": "abcdee" }), undefined);
    assert.equal(userOf({ "usage-bootstrap-authentication": "false" }), undefined);
    assert.equal(userOf({ "node-names": "locked" }), undefined);
    assert.ok(userOf({ "node-names": "web-1" }));
  });

  it("gives its groups, each once and in order", () => {
    const groups = "system:bootstrappers:b,system:bootstrappers:a:c,system:bootstrappers:b";
    assert.deepEqual(userOf({ "auth-extra-groups": groups })?.groups, [
      ...["system:bootstrappers", "system:bootstrappers:a:c", "system:bootstrappers:b"],
    ]);
    assert.deepEqual(userOf({ "auth-extra-groups": "" })?.groups, ["system:bootstrappers"]);
  });

  it("is refused when one of its groups is none of bootstrappers", () => {
    for (const groups of [
      ...["system:masters", "system:bootstrappers:a,system:masters", "system:bootstrappers", "system:bootstrappers:"],
      ...[
        " system:bootstrappers:a",
        "system:bootstrappers:a\n",
        "system:bootstrappers:a,",
        ",",
        "system:bootstrappers:A",
      ],
    ]) {
      assert.equal(userOf({ "auth-extra-groups": groups }), undefined, groups);
    }
  });
});

it("a bootstrap token is unusable without the permission to authenticate, with another id or a wrong group", () => {
  const isUsable = (fields: Readonly<Record<string, string>>): boolean => bootstrapTokenOf(secretOf(fields)).isUsable;
  assert.ok(isUsable({}));
  assert.ok(!isUsable({ "usage-bootstrap-authentication": "false" }));
  assert.ok(!isUsable({ "token-id": "abcdee" }));
  assert.ok(!isUsable({ "auth-extra-groups": "edge" }));
});

it("only a user of bootstrappers came with a bootstrap token, whatever the name of another is", () => {
  const idOf = (username: string, ...groups: string[]) => bootstrapTokenIdOf({ username, groups, extra: {} });
  assert.equal(idOf("system:bootstrap:abcdef", "system:bootstrappers", "system:authenticated"), "abcdef");
  assert.equal(idOf("system:bootstrap:abcdef", "system:bootstrappers:ci", "system:authenticated"), undefined);
  assert.equal(idOf("x:system:bootstrap:abcdef", "system:bootstrappers"), undefined);
});
