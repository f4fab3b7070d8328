import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compileClaimExpression } from "../../../../src/features/federation/oidc/claim-expression.ts";
import type { ExpressionResult } from "../../../../src/features/federation/oidc/claim-expression.ts";

const claims = {
  sub: "ada",
  email: "Ada@Example.com",
  email_verified: true,
  level: 3,
  groups: ["dev", "ops"],
  nested: { roles: { admin: true } },
  nothing: null,
  namespace: "apps",
  "kubernetes.io": { "node-name": "one", pod: { uid: "1" } },
  "example.com/a__b": "escaped",
};
const evaluate = (source: string, result: ExpressionResult, value: Record<string, unknown> = claims): unknown =>
  compileClaimExpression(source, { variable: "claims", result }).evaluate(value);

describe("a CEL expression on claims", () => {
  const texts: Readonly<Record<string, unknown>> = {
    "claims.sub": "ada",
    '"corp:" + claims.sub': "corp:ada",
    "claims.email.lowerAscii()": "ada@example.com",
    'claims.email.split("@")[0]': "Ada",
    'claims.?missing.orValue("none")': "none",
    'has(claims.missing) ? claims.missing : "other"': "other",
    'claims.groups.transformList(i, g, g + string(i)).sort().join("-")': "dev0-ops1",
    'claims.?email.optMap(e, e.find("^[^@]+")).orValue("none")': "Ada",
    "claims.kubernetes__dot__io.node__dash__name": "one",
    'claims["kubernetes.io"].pod.uid': "1",
    "claims.example__dot__com__slash__a__underscores__b": "escaped",
    "claims.__namespace__ + claims.namespace": "appsapps",
    'claims.?kubernetes__dot__io.?pod.uid.orValue("none")': "1",
  };
  for (const [source, expected] of Object.entries(texts)) {
    it(`returns a text: ${source}`, () => assert.equal(evaluate(source, "text"), expected));
  }

  const conditions: Readonly<Record<string, boolean>> = {
    "claims.email_verified == true": true,
    "claims.level == 3": true,
    "claims.level > 3": false,
    "claims.level in {3: true}": true,
    "{3: true}[claims.level]": true,
    "has(claims.missing)": false,
    "claims.nothing == null": true,
    "claims.nested.roles.admin": true,
    '"dev" in claims.groups': true,
    'claims.groups.exists(g, g.startsWith("o"))': true,
    "claims.groups.all(g, size(g) == 3)": true,
    'claims.groups.exists_one(g, g == "dev")': true,
    'claims.email.matches("^[^@]+@[Ee]xample[.]com$")': true,
    "has(claims.constructor) || has(claims.toString)": false,
    "has(claims.kubernetes__dot__io.pod.uid)": true,
    "has(claims.kubernetes__dot__io.secret)": false,
    "has(claims.kubernetes__point__io) || has(claims.a__namespace__)": false,
  };
  for (const [source, expected] of Object.entries(conditions)) {
    it(`returns a decision: ${source}`, () => assert.equal(evaluate(source, "boolean"), expected));
  }

  it("returns lists", () => {
    assert.deepEqual(evaluate('claims.groups.map(g, "corp:" + g)', "texts"), ["corp:dev", "corp:ops"]);
    assert.deepEqual(evaluate('claims.groups.filter(g, g != "ops") + ["all"]', "texts"), ["dev", "all"]);
  });

  const unusable: readonly (readonly [source: string, result: ExpressionResult, fault: RegExp])[] = [
    ["claims.sub +", "text", /EOF|Unexpected/],
    ["sub", "text", /Unknown variable: sub/],
    ["claims.groups.size()", "text", /must evaluate to string/],
    ["claims.sub", "boolean", /^$/],
    ['"yes"', "boolean", /must evaluate to bool/],
    ["1", "texts", /must evaluate to string or list of strings/],
    ['claims.sub.matches("(")', "boolean", /missing closing/],
    ["claims.sub.matches(claims.email)", "boolean", /literal/],
    ["matches(claims.sub, claims.email)", "boolean", /literal/],
    ["claims.sub.find(claims.email)", "text", /literal/],
    ["claims.sub.findAll(claims.email)", "texts", /literal/],
    ['claims.sub.matches("(?=a)")', "boolean", /invalid or unsupported Perl syntax/],
    ["(".repeat(60) + "true" + ")".repeat(60), "boolean", /depth|nest/i],
  ];
  for (const [source, result, fault] of unusable) {
    if (fault.source === "^$") {
      it(`may have a type that is known only for a token: ${source}`, () =>
        assert.ok(compileClaimExpression(source, { variable: "claims", result })));
    } else {
      it(`is refused when it is compiled: ${source.slice(0, 40)}`, () =>
        assert.throws(() => compileClaimExpression(source, { variable: "claims", result }), fault));
    }
  }

  it("fails for a missing claim, and names it", () =>
    assert.throws(() => evaluate("claims.missing", "text"), /no such key: missing/));

  it("never quotes a claim when it fails", () =>
    assert.throws(
      () => evaluate("bool(claims.sub)", "boolean", { sub: "secret-value" }),
      (error: Error) => !error.message.includes("secret"),
    ));

  it("matches in linear time", () => {
    const text = `${"a".repeat(20_000)}!`;
    assert.equal(evaluate('claims.sub.matches("^(a+)+$")', "boolean", { sub: text }), false);
    assert.equal(evaluate('claims.sub.matches("(.*)*(.*)*(x+x+)+y{2,50}")', "boolean", { sub: text }), false);
  });

  it("is not evaluated when nested loops over a large token would take too long", () => {
    const groups = Array.from({ length: 10_000 }, (_, index) => `g${index}`);
    assert.equal(evaluate('claims.groups.exists(g, g == "g9999")', "boolean", { groups }), true);
    for (const source of [
      "claims.groups.all(g, claims.groups.exists(h, g == h))",
      "claims.groups.all(g, g in claims.groups)",
      'claims.groups.all(g, claims.long.split("").all(c, c != g))',
    ]) {
      assert.throws(() => evaluate(source, "boolean", { groups, long: "x".repeat(10_000) }), /too many steps/);
    }
  });

  it("fails without other harm for claims that are nested very deep", () => {
    const deep = JSON.parse(`${"[".repeat(30_000)}${"]".repeat(30_000)}`) as unknown;
    assert.throws(() => evaluate("claims.deep.all(d, d == claims.deep)", "boolean", { deep }), Error);
  });
});

it("an expression on a user reads the mapped user", () => {
  const compile = (source: string): unknown =>
    compileClaimExpression(source, { variable: "user", result: "boolean" }).evaluate({
      username: "corp:ada",
      uid: "",
      groups: ["dev"],
      extra: { "example.org/team": ["x"] },
    });
  assert.equal(compile("!user.username.startsWith('system:')"), true);
  assert.equal(compile("user.groups.all(group, !group.startsWith('system:'))"), true);
  assert.equal(compile("'x' in user.extra['example.org/team']"), true);
  assert.throws(() => compile("user.name == ''"), /name/);
  assert.throws(() => compile("user.username == 3"), /overload/);
});
