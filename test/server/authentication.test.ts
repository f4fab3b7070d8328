import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { tooManyRequests } from "../../src/machinery/api/api-error.ts";
import { platformNames } from "../../src/machinery/api/names.ts";
import { impersonationHeaders } from "../../src/features/access/credentials/impersonation.ts";
import { clientCertificate } from "../../src/features/access/credentials/client-certificate.ts";
import { frontProxy, standardFrontProxyHeaders } from "../../src/features/access/credentials/front-proxy.ts";
import { parseTokenFile } from "../../src/features/access/credentials/static-token-file.ts";
import type { Headers } from "../../src/machinery/api/http-message.ts";
import { createAuthentication } from "../../src/machinery/authentication/create-authentication.ts";
import { bearerToken, bearerTokenWarnings } from "../../src/machinery/authentication/bearer-token.ts";
import { notApplicable, refused } from "../../src/machinery/authentication/credential.ts";
import type { Credential, CredentialOutcome } from "../../src/machinery/authentication/credential.ts";
import { identityHeaderRemover } from "../../src/machinery/authentication/identity-headers.ts";
import {
  firstGoodToken,
  forApiAudiences,
  tokenReviewer,
} from "../../src/machinery/authentication/token-authentication.ts";
import { apiAudience, bob, checkFor, scene, TestClock } from "../features/accounts/tokens/token-scene.ts";
import { newAuthority, newCertificate, request } from "../features/access/certificate-scene.ts";

const clients = newAuthority("clients");
const proxies = newAuthority("proxies");
const [clientRoots, proxyRoots] = [[clients.certificate], [proxies.certificate]];
const tokens = scene();
const clock = new TestClock();
const verifyToken = firstGoodToken([
  tokens.verify,
  forApiAudiences(parseTokenFile("static,dave,1,system:masters"), [apiAudience]),
]);
const usual = { allowedNames: ["proxy"], clock };
const options = {
  credentials: [
    frontProxy({ headers: standardFrontProxyHeaders, roots: () => proxyRoots, ...usual, isUserRequired: false }),
    clientCertificate({ names: platformNames, roots: () => clientRoots, clock }),
    bearerToken(verifyToken, [apiAudience]),
  ],
  mayBeAnonymous: () => true,
  onOutcome: () => undefined,
  onFailure: () => undefined,
};
const authenticate = createAuthentication(options);
const reviewToken = tokenReviewer(verifyToken, [apiAudience]);
const alice = newCertificate(clients);
const proxy = newCertificate(proxies, { subject: { commonName: "proxy" } });
const who = async (headers: Headers, ...certificates: Parameters<typeof request>[1] & object): Promise<string> =>
  (await authenticate(request(headers, certificates))).username;
const is401 = { code: 401, message: "Unauthorized" };

describe("the chain of authenticators", () => {
  it("checks the front proxy, then the client certificate, then the token", async () => {
    assert.equal(await who({ "x-remote-user": "carol", authorization: "Bearer static" }, proxy), "carol");
    assert.equal(await who({ "x-remote-user": "carol", authorization: "Bearer static" }, alice), "alice");
    assert.equal(await who({ "x-remote-user": "carol", authorization: "Bearer static" }), "dave");
  });

  it("accepts a request with one good credential beside a bad one", async () => {
    assert.equal(await who({ authorization: "Bearer static" }, newCertificate(newAuthority("others"))), "dave");
    assert.equal(await who({ authorization: "Bearer garbage" }, alice), "alice");
  });

  it("answers 401 when every credential is bad, including a proxy's certificate without a user", async () => {
    await assert.rejects(who({ authorization: "Bearer garbage" }), is401);
    await assert.rejects(who({}, newCertificate(newAuthority("others"))), is401);
    await assert.rejects(who({}, proxy), is401);
  });

  it("refuses a front proxy that names no user where one is required, whatever other credentials it sends", async () => {
    const strict = createAuthentication({
      ...options,
      credentials: [
        frontProxy({ headers: standardFrontProxyHeaders, roots: () => proxyRoots, ...usual, isUserRequired: true }),
        clientCertificate({ names: platformNames, roots: () => proxyRoots, clock }),
        bearerToken(verifyToken, [apiAudience]),
      ],
    });
    const ask = async (headers: Headers, ...certificates: Parameters<typeof request>[1] & object): Promise<string> =>
      (await strict(request(headers, certificates))).username;
    const refusal = { code: 401, message: /the front proxy's request names no user/ };
    for (const headers of [
      {},
      { "x-remote-user": "" },
      { authorization: "Bearer static" },
      { "x-remote-group": "g" },
    ]) {
      await assert.rejects(ask(headers, proxy), refusal);
    }
    await assert.rejects(ask({ "x-remote-user": "\xff" }, proxy), { code: 400 });
    assert.equal(await ask({ "x-remote-user": "carol" }, proxy), "carol");
    assert.equal(await ask({ "x-remote-user": "j\xc3\xbcrgen" }, proxy), "jürgen");
    assert.equal(await ask({ authorization: "Bearer static" }), "dave");
    assert.equal(await ask({ authorization: "Bearer static" }, alice), "dave");
  });

  it("treats a request without credentials as anonymous, unless anonymous requests are refused", async () => {
    assert.deepEqual(await authenticate(request()), {
      username: "system:anonymous",
      groups: ["system:unauthenticated"],
      extra: {},
    });
    const strict = createAuthentication({ ...options, mayBeAnonymous: () => false });
    assert.throws(() => strict(request()), is401);
  });

  it("adds system:authenticated to every other user, once", async () => {
    assert.deepEqual((await authenticate(request({}, [alice]))).groups, ["dev", "ops", "system:authenticated"]);
    const grouped = newCertificate(clients, {
      subject: { commonName: "eve", organizations: ["system:authenticated"] },
    });
    assert.deepEqual((await authenticate(request({}, [grouped]))).groups, ["system:authenticated"]);
  });
});

describe("a credential that is checked outside this process", () => {
  const slow = (answer: () => Promise<CredentialOutcome>): Credential => ({
    name: "slow",
    headers: { names: [], prefixes: [] },
    authenticate: answer,
  });
  const askThenTokens = (
    credential: Credential,
    onFailure: (failed: Credential, error: unknown) => void = options.onFailure,
  ) =>
    createAuthentication({
      ...options,
      credentials: [credential, bearerToken(verifyToken, [apiAudience])],
      onFailure,
    });

  it("is awaited, and decides before those that come after it", async () => {
    const user = { username: "erin", groups: [], extra: {} };
    const ask = askThenTokens(slow(() => Promise.resolve({ outcome: "authenticated", user })));
    assert.equal((await ask(request({ authorization: "Bearer static" }))).username, "erin");
  });

  it("leaves the request to the next credential when it is not applicable, and ends it with a 401 when it is refused", async () => {
    const stranger = askThenTokens(slow(() => Promise.resolve(notApplicable)));
    assert.equal((await stranger(request({ authorization: "Bearer static" }))).username, "dave");
    assert.equal((await stranger(request())).username, "system:anonymous");
    const bad = askThenTokens(slow(() => Promise.resolve(refused("no"))));
    await assert.rejects(async () => bad(request()), is401);
  });

  it("does not make a request anonymous whose earlier credential was refused", async () => {
    const bad: Credential = { ...slow(() => Promise.resolve(notApplicable)), authenticate: () => refused("no") };
    const ask = createAuthentication({
      ...options,
      credentials: [bad, slow(() => Promise.resolve(notApplicable)), bearerToken(verifyToken, [apiAudience])],
    });
    await assert.rejects(async () => ask(request()), is401);
    assert.equal((await ask(request({ authorization: "Bearer static" }))).username, "dave");
  });

  it("ends the request in its own words when it was not checked, and not with a 401", async () => {
    const busy = askThenTokens(slow(() => Promise.reject(tooManyRequests("later", 1))));
    await assert.rejects(async () => busy(request({ authorization: "Bearer static" })), {
      code: 429,
      message: "later",
    });
  });

  it("counts as refused when it fails, and logs that", async () => {
    const failures: string[] = [];
    const failing = slow(() => Promise.reject(new Error("connection refused")));
    const ask = askThenTokens(failing, ({ name }, error) => failures.push(`${name}: ${String(error)}`));
    await assert.rejects(async () => ask(request()), is401);
    assert.equal((await ask(request({ authorization: "Bearer static" }))).username, "dave");
    assert.deepEqual(failures, ["slow: Error: connection refused", "slow: Error: connection refused"]);
  });
});

describe("a token under review", () => {
  const review = async (token: string, audiences: readonly string[] = []) => reviewToken(token, checkFor(audiences));

  it("is checked for the audiences of the API by default", async () => {
    const found = await review(tokens.issue(bob, { audiences: [apiAudience, "x"], lifetimeSeconds: 600 }));
    assert.ok(found.isAuthenticated);
    assert.deepEqual(found.audiences, [apiAudience]);
    assert.ok(found.user.groups.includes("system:authenticated"));
  });

  it("is good when a later verifier says so, and not checked when one cannot check it and no other knows it", async () => {
    const later = firstGoodToken([
      () => Promise.reject(tooManyRequests("too many wait for the issuer", 1)),
      async () => refused("it is not of the webhook"),
      forApiAudiences(parseTokenFile("static,dave,1,system:masters"), [apiAudience]),
    ]);
    const good = await later("static", checkFor([apiAudience]));
    assert.equal(good.outcome === "authenticated" && good.user.username, "dave");
    await assert.rejects(async () => later("other", checkFor([apiAudience])), { code: 429 });
  });

  it("is refused with every verifier's reason, or with the first failure, also when verifiers answer later", async () => {
    const busy = (message: string) => () => Promise.reject(tooManyRequests(message, 1));
    const reasons = [() => refused("one"), async () => refused("two"), () => refused("three")];
    assert.deepEqual(
      await firstGoodToken(reasons)("token", checkFor([apiAudience])),
      refused("[invalid bearer token, one, two, three]"),
    );
    const failing = firstGoodToken([busy("first"), ...reasons, busy("second")]);
    await assert.rejects(async () => failing("token", checkFor([apiAudience])), { message: "first" });
  });

  it("is answered with upstream's message when it is invalid", async () => {
    const error = async (token: string): Promise<string> => {
      const found = await review(token, ["b"]);
      return found.isAuthenticated ? "" : found.error;
    };
    const token = tokens.issue(bob, { audiences: ["a"], lifetimeSeconds: 600 });
    assert.equal(await error("garbage"), "invalid bearer token");
    assert.equal(
      await error(token),
      '[invalid bearer token, token audiences ["a"] is invalid for the target audiences ["b"]]',
    );
    assert.equal(await error(`${token}A`), "[invalid bearer token, go-jose/go-jose: error in cryptographic primitive]");
    tokens.objects.serviceAccounts.delete("ns/bob");
    const gone = await review(token, ["a"]);
    tokens.objects.serviceAccounts.set("ns/bob", { uid: "bob-uid" });
    assert.deepEqual(gone, {
      isAuthenticated: false,
      error: '[invalid bearer token, serviceaccounts "bob" not found]',
    });
  });

  it("of the token file is good for the audiences of the API only", async () => {
    assert.equal((await review("static")).isAuthenticated, true);
    assert.equal((await review("static", ["vault"])).isAuthenticated, false);
  });

  it("is taken as it is, without stripping a scheme, further words or white space", async () => {
    for (const token of ["Bearer static", "static x", " static", "static\n"]) {
      assert.equal((await review(token)).isAuthenticated, false, JSON.stringify(token));
    }
  });
});

it("a bearer token behind two spaces is anonymous, with a warning", async () => {
  assert.equal(await who({ authorization: "Bearer  static" }), "system:anonymous");
  assert.equal(bearerTokenWarnings({ authorization: "Bearer  static" }).length, 1);
  for (const authorization of ["Bearer static", "Bearer ", "Basic  x", ""]) {
    assert.deepEqual(bearerTokenWarnings({ authorization }), []);
  }
});

it("configured and standard identity headers are removed, with dashes and with underscores", async () => {
  const headers = {
    usernameHeaders: ["x-proxy-user"],
    uidHeaders: [],
    groupHeaders: ["x_proxy_group"],
    extraHeaderPrefixes: ["x-proxy-extra-"],
  };
  const declaring = [
    frontProxy({ headers, roots: () => [], allowedNames: [], isUserRequired: false, clock }),
    bearerToken(verifyToken, []),
  ];
  const remove = identityHeaderRemover([impersonationHeaders, ...declaring.map((one) => one.headers)]);
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
