import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { platformNames } from "../../src/machinery/api/names.ts";
import {
  bearerTokenWarnings,
  createAuthentication,
  forApiAudiences,
  identityHeaderRemover,
  parseTokenFile,
  standardFrontProxyHeaders,
} from "../../src/machinery/authentication/authentication.ts";
import type { Headers } from "../../src/machinery/api/http-message.ts";
import { apiAudience, bob, scene, TestClock } from "../features/accounts/token-scene.ts";
import { newAuthority, newCertificate, request } from "../features/access/certificate-scene.ts";

const clients = newAuthority("clients");
const proxies = newAuthority("proxies");
const [clientRoots, proxyRoots] = [[clients.certificate], [proxies.certificate]];
const tokens = scene();
const clock = new TestClock();
const options = {
  frontProxy: {
    ...standardFrontProxyHeaders,
    roots: () => proxyRoots,
    allowedNames: ["proxy"],
    isUserRequired: false,
    clock,
  },
  clientCertificates: { names: platformNames, roots: () => clientRoots, clock },
  tokenVerifiers: [tokens.verify, forApiAudiences(parseTokenFile("static,dave,1,system:masters"), [apiAudience])],
  apiAudiences: [apiAudience],
  isAnonymousAllowed: true,
};
const authentication = createAuthentication(options);
const alice = newCertificate(clients);
const proxy = newCertificate(proxies, { subject: { commonName: "proxy" } });
const who = (headers: Headers, ...certificates: Parameters<typeof request>[1] & object): string =>
  authentication.authenticate(request(headers, certificates)).username;
const is401 = { code: 401, message: "Unauthorized" };

describe("the chain of authenticators", () => {
  it("asks the front proxy before the client certificate before the token", () => {
    assert.equal(who({ "x-remote-user": "carol", authorization: "Bearer static" }, proxy), "carol");
    assert.equal(who({ "x-remote-user": "carol", authorization: "Bearer static" }, alice), "alice");
    assert.equal(who({ "x-remote-user": "carol", authorization: "Bearer static" }), "dave");
  });

  it("lets one good credential make up for a bad one", () => {
    assert.equal(who({ authorization: "Bearer static" }, newCertificate(newAuthority("others"))), "dave");
    assert.equal(who({ authorization: "Bearer garbage" }, alice), "alice");
  });

  it("answers 401 when every credential is bad, a proxy's own certificate without a user included", () => {
    assert.throws(() => who({ authorization: "Bearer garbage" }), is401);
    assert.throws(() => who({}, newCertificate(newAuthority("others"))), is401);
    assert.throws(() => who({}, proxy), is401);
  });

  it("ends at a front proxy that names no user, where one is required, whatever else it carries", () => {
    const frontProxy = { ...options.frontProxy, isUserRequired: true };
    const strict = createAuthentication({
      ...options,
      frontProxy,
      clientCertificates: { ...options.clientCertificates, roots: () => proxyRoots },
    });
    const ask = (headers: Headers, ...certificates: Parameters<typeof request>[1] & object): string =>
      strict.authenticate(request(headers, certificates)).username;
    const refusal = { code: 401, message: /the front proxy's request names no user/ };
    for (const headers of [
      {},
      { "x-remote-user": "" },
      { authorization: "Bearer static" },
      { "x-remote-group": "g" },
    ]) {
      assert.throws(() => ask(headers, proxy), refusal);
    }
    assert.throws(() => ask({ "x-remote-user": "\xff" }, proxy), { code: 400 });
    assert.equal(ask({ "x-remote-user": "carol" }, proxy), "carol");
    assert.equal(ask({ "x-remote-user": "j\xc3\xbcrgen" }, proxy), "jürgen");
    assert.equal(ask({ authorization: "Bearer static" }), "dave");
    assert.equal(ask({ authorization: "Bearer static" }, alice), "dave");
  });

  it("takes nobody for anonymous, unless anonymous may not ask", () => {
    assert.deepEqual(authentication.authenticate(request()), {
      username: "system:anonymous",
      groups: ["system:unauthenticated"],
      extra: {},
    });
    const strict = createAuthentication({ ...options, isAnonymousAllowed: false });
    assert.throws(() => strict.authenticate(request()), is401);
  });

  it("puts everybody else into system:authenticated, once", () => {
    assert.deepEqual(authentication.authenticate(request({}, [alice])).groups, ["dev", "ops", "system:authenticated"]);
    const grouped = newCertificate(clients, {
      subject: { commonName: "eve", organizations: ["system:authenticated"] },
    });
    assert.deepEqual(authentication.authenticate(request({}, [grouped])).groups, ["system:authenticated"]);
  });
});

describe("a token under review", () => {
  const review = (token: string, audiences: readonly string[] = []) => authentication.reviewToken(token, audiences);

  it("is checked for the audiences of the API when none are given", () => {
    const found = review(tokens.issue(bob, { audiences: [apiAudience, "x"], lifetimeSeconds: 600 }));
    assert.ok(found.isAuthenticated);
    assert.deepEqual(found.audiences, [apiAudience]);
    assert.ok(found.user.groups.includes("system:authenticated"));
  });

  it("is answered with upstream's words when it is no good", () => {
    const error = (token: string): string => {
      const found = review(token, ["b"]);
      return found.isAuthenticated ? "" : found.error;
    };
    const token = tokens.issue(bob, { audiences: ["a"], lifetimeSeconds: 600 });
    assert.equal(error("garbage"), "invalid bearer token");
    assert.equal(
      error(token),
      '[invalid bearer token, token audiences ["a"] is invalid for the target audiences ["b"]]',
    );
    assert.equal(error(`${token}A`), "[invalid bearer token, go-jose/go-jose: error in cryptographic primitive]");
    tokens.objects.serviceAccounts.delete("ns/bob");
    const gone = review(token, ["a"]);
    tokens.objects.serviceAccounts.set("ns/bob", { uid: "bob-uid" });
    assert.deepEqual(gone, {
      isAuthenticated: false,
      error: '[invalid bearer token, serviceaccounts "bob" not found]',
    });
  });

  it("of the token file is good for the audiences of the API only", () => {
    assert.equal(review("static").isAuthenticated, true);
    assert.equal(review("static", ["vault"]).isAuthenticated, false);
  });

  it("is taken as it is: a scheme, a word behind it or white space are no part of it", () => {
    for (const token of ["Bearer static", "static x", " static", "static\n"]) {
      assert.equal(review(token).isAuthenticated, false, JSON.stringify(token));
    }
  });
});

it("a header with two spaces is anonymous, with a warning", () => {
  assert.equal(who({ authorization: "Bearer  static" }), "system:anonymous");
  assert.equal(bearerTokenWarnings({ authorization: "Bearer  static" }).length, 1);
  for (const authorization of ["Bearer static", "Bearer ", "Basic  x", ""]) {
    assert.deepEqual(bearerTokenWarnings({ authorization }), []);
  }
});

it("headers that claim an identity are removed, configured and standard ones, with dashes and underscores", () => {
  const remove = identityHeaderRemover({
    usernameHeaders: ["x-proxy-user"],
    uidHeaders: [],
    groupHeaders: ["x_proxy_group"],
    extraHeaderPrefixes: ["x-proxy-extra-"],
  });
  const claims = [
    "authorization",
    "impersonate-user",
    "impersonate_user",
    "impersonate-group",
    "impersonate-uid",
    "impersonate-extra-scopes",
    "impersonate_extra_scopes",
    "x-remote-user",
    "x_remote_user",
    "x-remote_group",
    "x-remote-uid",
    "x-remote-extra-k",
    "x-proxy-user",
    "x_proxy_user",
    "x-proxy-group",
    "x-proxy-extra-k",
    "x_proxy-extra_k",
  ];
  const all = request(Object.fromEntries([...claims, "accept", "x-remote-users"].map((name) => [name, "v"])));
  assert.deepEqual(Object.keys(remove(all).headers), ["accept", "x-remote-users"]);
  const plain = request({ accept: "v" });
  assert.equal(remove(plain), plain);
});
