import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decodeClaims, encodeClaims } from "../../../../src/features/accounts/tokens/token-claims.ts";

const claim = "platform.io";
const own = { namespace: "ns", serviceaccount: { name: "robot", uid: "u" } };
const payload = {
  iss: "https://a.example",
  sub: "system:serviceaccount:ns:robot",
  aud: ["a"],
  exp: 2,
  iat: 1,
  nbf: 1,
  jti: "x",
};
const decoded = (changes: object, ofOwn: object = {}) =>
  decodeClaims({ ...payload, [claim]: { ...own, ...ofOwn }, ...changes }, claim);

describe("the claims of a service account token", () => {
  it("are read as they were written", () => {
    const claims = decoded({}, { pod: { name: "p", uid: "pu" }, node: { name: "n" }, warnafter: 5 });
    assert.ok(claims);
    assert.deepEqual(decodeClaims(JSON.parse(JSON.stringify(encodeClaims(claims, claim))), claim), claims);
  });

  it("may have an audience as text, fractions of seconds, and null for no object", () => {
    assert.deepEqual(decoded({ aud: "a" })?.audiences, ["a"]);
    assert.deepEqual(decoded({ aud: undefined })?.audiences, []);
    assert.equal(decoded({ exp: 2.9 })?.expirationSeconds, 2);
    assert.ok(!("pod" in (decoded({}, { pod: null }) ?? { pod: "" })));
  });

  for (const [what, payloadChanges, ownChanges] of [
    ["an issuer that is no text", { iss: 1 }, {}],
    ["a subject that is no text", { sub: ["a"] }, {}],
    ["audiences that are no texts", { aud: ["a", 1] }, {}],
    ["audiences that are no list", { aud: { a: "b" } }, {}],
    ["an end that is a text", { exp: "2" }, {}],
    ["an end without end", { exp: Infinity }, {}],
    ["a start that is no number", { nbf: true }, {}],
    ["an id that is no text", { jti: 1 }, {}],
    ["nothing of its own", { [claim]: "robot" }, {}],
    ["no namespace", {}, { namespace: undefined }],
    ["an empty namespace", {}, { namespace: "" }],
    ["no account", {}, { serviceaccount: null }],
    ["an account without a name", {}, { serviceaccount: { uid: "u" } }],
    ["an account whose uid is no text", {}, { serviceaccount: { name: "robot", uid: 1 } }],
    ["a pod that is no object", {}, { pod: "p" }],
    ["a pod without a name", {}, { pod: { uid: "pu" } }],
    ["a secret that is a list", {}, { secret: [] }],
    ["a node with an empty name", {}, { node: { name: "" } }],
    ["a time of a warning that is no number", {}, { warnafter: "5" }],
  ] as const) {
    it(`are unreadable with ${what}`, () => assert.equal(decoded(payloadChanges, ownChanges), undefined));
  }

  it("are unreadable in a payload that is no object", () => {
    for (const other of [null, "a", 1, [], undefined]) assert.equal(decodeClaims(other, claim), undefined);
  });
});
