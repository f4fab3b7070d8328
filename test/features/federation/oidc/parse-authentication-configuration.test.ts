import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseAuthenticationConfiguration } from "../../../../src/features/federation/oidc/parse-authentication-configuration.ts";
import type { ParsedConfiguration } from "../../../../src/features/federation/oidc/parse-authentication-configuration.ts";
import { kubernetesNames } from "../../../../src/machinery/api/names.ts";

const parse = (text: string): ParsedConfiguration =>
  parseAuthenticationConfiguration(text, { names: kubernetesNames, ownIssuers: ["https://own.example.com"] });

const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n";
const issuer = { url: "https://login.example.com", audiences: ["signet"] };
const username = { claim: "sub", prefix: "" };
/** A file with one issuer, as JSON, which is YAML. */
const withEntry = (entry: Readonly<Record<string, unknown>>, ...more: readonly unknown[]): string =>
  JSON.stringify({
    apiVersion: "apiserver.config.k8s.io/v1beta1",
    kind: "AuthenticationConfiguration",
    jwt: [{ issuer, claimMappings: { username }, ...entry }, ...more],
  });
const withIssuer = (fields: Readonly<Record<string, unknown>>): string =>
  withEntry({ issuer: { ...issuer, ...fields } });
const withMappings = (fields: Readonly<Record<string, unknown>>): string =>
  withEntry({ claimMappings: { username, ...fields } });

describe("an AuthenticationConfiguration", () => {
  it("is read with every field of upstream's example", () => {
    const { trusted, anonymous } = parse(`${head}
jwt:
- issuer:
    url: https://example.com
    discoveryURL: https://discovery.example.com/.well-known/openid-configuration
    audiences: [my-app, my-other-app]
    audienceMatchPolicy: MatchAny
  claimValidationRules:
  - {claim: hd, requiredValue: example.com}
  - {expression: 'claims.hd == "example.com"', message: the hd claim must be set to example.com}
  - {expression: 'claims.exp - claims.nbf <= 86400', message: total token lifetime must not exceed 24 hours}
  claimMappings:
    username: {expression: 'claims.username + ":external-user"'}
    groups: {expression: 'claims.roles.split(",")'}
    uid: {expression: claims.sub}
    extra:
    - {key: example.com/tenant, valueExpression: claims.tenant}
  userValidationRules:
  - {expression: "!user.username.startsWith('system:')", message: username cannot use the reserved prefix}
anonymous:
  enabled: true
  conditions: [{path: /livez}]
`);
    assert.equal(trusted[0]?.issuer.discoveryUrl, "https://discovery.example.com/.well-known/openid-configuration");
    assert.deepEqual(trusted[0]?.issuer.audiences, ["my-app", "my-other-app"]);
    assert.deepEqual(anonymous, { isEnabled: true, paths: ["/livez"] });
  });

  it("may have a prefix of groups without a claim, which means nothing, as in upstream", () => {
    const [trusted] = parse(withMappings({ groups: { prefix: "corp:" } })).trusted;
    assert.equal(trusted?.mapping.groups, undefined);
  });

  it("may have no issuer yet", () => assert.deepEqual(parse(head), { trusted: [], anonymous: undefined }));

  it("may be of each version that upstream reads", () => {
    for (const version of ["v1", "v1beta1", "v1alpha1"]) {
      assert.deepEqual(parse(head.replace("k8s.io/v1", `k8s.io/${version}`)).trusted, []);
    }
  });

  const faults: Readonly<Record<string, readonly [text: string, fault: RegExp]>> = {
    "no YAML": ["a: [", /./],
    "another version": [
      "apiVersion: v1\nkind: AuthenticationConfiguration",
      /apiVersion: "v1" must be apiserver.config/,
    ],
    "another kind": ["apiVersion: apiserver.config.k8s.io/v1\nkind: Config", /kind: "Config" must be/],
    "an unknown field": [withIssuer({ uri: "x" }), /unknown field "jwt\[0\]\.issuer\.uri"/],
    "a repeated field": [`${head}jwt: []\njwt: []\n`, /jwt/],
    "a wrong type": [withIssuer({ audiences: "signet" }), /cannot unmarshal string into .*audiences/],
    "65 issuers": [withEntry({}, ...Array.from({ length: 64 }, () => ({}))), /jwt: .*at most 64/],
    "no url": [withIssuer({ url: "" }), /jwt\[0\]\.issuer\.url: Required value/],
    "an http url": [withIssuer({ url: "http://x.example" }), /issuer\.url: .*URL scheme must be https/],
    "a url with a line end": [withIssuer({ url: "https://x.example\n" }), /issuer\.url: .*URL cannot be parsed/],
    "a url with a blank": [withIssuer({ discoveryURL: " https://x.example" }), /discoveryURL: .*URL cannot be parsed/],
    "a url with a password": [
      withIssuer({ url: "https://a:b@x.example" }),
      /"https:\/\/\(left out\)@x.example": .* must not contain a username or password/,
    ],
    "a url with a user": [withIssuer({ url: "https://a@x.example" }), /must not contain a username or password/],
    "a url with a password alone": [withIssuer({ url: "https://:b@x.example" }), /must not contain a username or/],
    "a url with a query": [withIssuer({ url: "https://x.example?y" }), /must not contain a query/],
    "a url with a fragment": [withIssuer({ url: "https://x.example#y" }), /must not contain a fragment/],
    "an invalid url": [withIssuer({ url: "login" }), /issuer\.url: .*cannot be parsed/],
    "the server's own issuer": [
      withIssuer({ url: "https://own.example.com" }),
      /must not overlap with disallowed issuers/,
    ],
    "an issuer twice": [
      withEntry({}, { issuer, claimMappings: { username } }),
      /jwt\[1\]\.issuer\.url: Duplicate value/,
    ],
    "discovery at the issuer": [
      withIssuer({ discoveryURL: "https://login.example.com/" }),
      /discoveryURL must be different from URL/,
    ],
    "no audience": [withIssuer({ audiences: [] }), /issuer\.audiences: Required value: at least one/],
    "an empty audience": [withIssuer({ audiences: [""] }), /audiences\[0\]: Required value/],
    "an audience twice": [
      withIssuer({ audiences: ["a", "a"], audienceMatchPolicy: "MatchAny" }),
      /audiences\[1\]: Duplicate/,
    ],
    "audiences without a policy": [withIssuer({ audiences: ["a", "b"] }), /must be MatchAny for multiple audiences/],
    "another policy": [withIssuer({ audienceMatchPolicy: "All" }), /must be empty or MatchAny for single audience/],
    "an invalid CA": [withIssuer({ certificateAuthority: "x" }), /certificateAuthority: Invalid value: "<omitted>"/],
    "an egress selector": [withIssuer({ egressSelectorType: "cluster" }), /egressSelectorType: Unsupported value/],
    "no username": [withEntry({ claimMappings: {} }), /claimMappings\.username: Required value: claim or expression/],
    "a username without a prefix": [
      withEntry({ claimMappings: { username: { claim: "sub" } } }),
      /username\.prefix: Required value: prefix is required when claim is set/,
    ],
    "a claim and an expression": [
      withMappings({ groups: { claim: "g", prefix: "", expression: "claims.g" } }),
      /groups: .*claim and expression can't both be set/,
    ],
    "a prefix of an expression": [
      withMappings({ groups: { expression: "claims.g", prefix: "x" } }),
      /groups\.prefix: .*may not be specified when expression is set/,
    ],
    "an expression that does not compile": [
      withMappings({ uid: { expression: "claims." } }),
      /claimMappings\.uid\.expression: Invalid value: "claims\.": compilation failed/,
    ],
    "mail that is not verified": [
      withEntry({ claimMappings: { username: { expression: "claims.email" } } }),
      /username\.expression: .*claims\.email_verified must be used/,
    ],
    "an extra key without a domain": [
      withMappings({ extra: [{ key: "team", valueExpression: "claims.team" }] }),
      /extra\[0\]\.key: .*domain-prefixed path/,
    ],
    "a reserved extra key": [
      withMappings({ extra: [{ key: "authentication.kubernetes.io/credential-id", valueExpression: "claims.a" }] }),
      /extra\[0\]\.key: .*reserved/,
    ],
    "an extra key in upper case": [
      withMappings({ extra: [{ key: "example.com/Team", valueExpression: "claims.a" }] }),
      /must be lowercase/,
    ],
    "an extra key without a name": [
      withMappings({ extra: [{ valueExpression: "claims.a" }] }),
      /extra\[0\]\.key: Required/,
    ],
    "an extra key of a domain alone": [
      withMappings({ extra: [{ key: "example.com/", valueExpression: "claims.a" }] }),
      /extra\[0\]\.key: .*domain-prefixed path/,
    ],
    "an extra key of a domain that there cannot be": [
      withMappings({ extra: [{ key: "example_com/a", valueExpression: "claims.a" }] }),
      /extra\[0\]\.key: .*domain-prefixed path/,
    ],
    "an extra key with a blank": [
      withMappings({ extra: [{ key: "example.com/a b", valueExpression: "claims.a" }] }),
      /extra\[0\]\.key: .*Invalid path/,
    ],
    "an extra key of a reserved domain itself": [
      withMappings({ extra: [{ key: "k8s.io/a", valueExpression: "claims.a" }] }),
      /extra\[0\]\.key: .*reserved/,
    ],
    "an extra key without a value": [
      withMappings({ extra: [{ key: "example.com/a" }] }),
      /valueExpression: Required value/,
    ],
    "an empty claim rule": [withEntry({ claimValidationRules: [{}] }), /claimValidationRules\[0\]: Required value/],
    "a claim rule of a claim and an expression": [
      withEntry({ claimValidationRules: [{ claim: "a", expression: "true" }] }),
      /claimValidationRules\[0\]: .*claim and expression can't both be set/,
    ],
    "a claim rule of an expression and a value": [
      withEntry({ claimValidationRules: [{ requiredValue: "a", expression: "true" }] }),
      /requiredValue: .*may not be specified when expression is set/,
    ],
    "an empty user rule": [
      withEntry({ userValidationRules: [{ message: "a" }] }),
      /userValidationRules\[0\]\.expression: Required value/,
    ],
    "a claim rule with a message": [
      withEntry({ claimValidationRules: [{ claim: "a", message: "b" }] }),
      /message: .*may not be specified when claim is set/,
    ],
    "a rule twice": [
      withEntry({ userValidationRules: [{ expression: "true" }, { expression: "true" }] }),
      /userValidationRules\[1\]\.expression: Duplicate value/,
    ],
    "a user rule on claims": [
      withEntry({ userValidationRules: [{ expression: "claims.a == 'b'" }] }),
      /userValidationRules\[0\]\.expression: .*Unknown variable: claims/,
    ],
    "conditions without anonymous requests": [
      `${head}anonymous: {enabled: false, conditions: [{path: /livez}]}`,
      /anonymous\.conditions: .*enabled should be set to true/,
    ],
  };
  for (const [what, [text, fault]] of Object.entries(faults)) {
    it(`is refused with the path of the fault: ${what}`, () => assert.throws(() => parse(text), fault));
  }

  it("reserves no domains that only begin or end like a reserved one", () => {
    const extra = ["notk8s.io/a", "k8s.io.example.com/a"].map((key) => ({ key, valueExpression: "claims.a" }));
    parse(withMappings({ extra }));
  });

  it("accepts claims.email together with claims.email_verified, wherever the latter is used", () => {
    const expression = "claims.email";
    const mapping = { username: { expression } };
    parse(
      withEntry({ claimMappings: mapping, claimValidationRules: [{ expression: "claims.email_verified == true" }] }),
    );
    parse(
      withEntry({
        claimMappings: { username: { expression: 'claims.?email_verified.orValue(true) ? claims.email : ""' } },
      }),
    );
  });
});
