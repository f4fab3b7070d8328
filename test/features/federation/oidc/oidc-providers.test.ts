import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import https from "node:https";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { exportJWK, generateKeyPair } from "jose";
import { Provider } from "oidc-provider";
import { openIssuers } from "../../../../src/features/federation/oidc/open-issuers.ts";
import type { TokenOutcome } from "../../../../src/machinery/authentication/token-authentication.ts";
import { InProcess } from "../../../server/in-process.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";
import { checkFor, TestClock } from "../../accounts/tokens/token-scene.ts";
import { issuersOptions, keptLog } from "../issuer-scene.ts";
import { openTlsSite } from "../tls-site.ts";
import type { TlsSite } from "../tls-site.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

type Algorithm = "RS256" | "PS256" | "ES384";

/** Makes the site an issuer (oidc-provider) with one new key. */
async function provideOpenId(site: TlsSite, algorithm: Algorithm): Promise<void> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const jwk = { ...(await exportJWK(privateKey)), alg: algorithm, use: "sig" };
  const provider = new Provider(site.url, {
    jwks: { keys: [jwk] },
    cookies: { keys: ["test"] },
    enabledJWA: { idTokenSigningAlgValues: [algorithm] },
    clients: [
      {
        client_id: "pipeline",
        client_secret: "pipeline-secret",
        grant_types: ["client_credentials"],
        redirect_uris: [],
        response_types: [],
        id_token_signed_response_alg: algorithm,
      },
    ],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => "urn:signet",
        getResourceServerInfo: () => ({
          scope: "",
          audience: "signet",
          accessTokenFormat: "jwt",
          accessTokenTTL: 600,
          jwt: { sign: { alg: algorithm } },
        }),
      },
    },
    extraTokenClaims: () => ({ groups: ["builders"], team: { name: "release" } }),
  });
  site.answer = provider.callback();
}

/** A token by the client credentials grant (RFC 6749 section 4.4). */
async function tokenFrom(site: TlsSite): Promise<string> {
  const request = https.request(`${site.url}/token`, {
    method: "POST",
    ca: site.caCertificate,
    auth: "pipeline:pipeline-secret",
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
  request.end("grant_type=client_credentials");
  const [response] = (await once(request, "response")) as [AsyncIterable<Buffer>];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  const answer = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { readonly access_token?: string };
  assert.ok(answer.access_token !== undefined, JSON.stringify(answer));
  return answer.access_token;
}

const api = ["https://api.test"];
const file = join(temporaryFolder(), "authentication.yaml");

function writeConfiguration(...jwt: readonly object[]): void {
  writeFileSync(
    file,
    JSON.stringify({
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "AuthenticationConfiguration",
      jwt,
      anonymous: { enabled: true, conditions: [{ path: "/livez" }, { path: "/readyz" }] },
    }),
  );
}
const entryOf = (site: TlsSite): object => ({
  issuer: { url: site.url, audiences: ["signet"], certificateAuthority: site.caCertificate },
  claimMappings: {
    username: { claim: "sub", prefix: "ci:" },
    groups: { expression: "claims.groups.map(g, 'ci:' + g)" },
    extra: [{ key: "example.com/team", valueExpression: "claims.team.name" }],
  },
});

describe("oidc-provider, seen through a running server, beside another Signet", () => {
  let site: TlsSite;
  let other: TestServer;
  let server: TestServer;
  before(async () => {
    site = await openTlsSite();
    await provideOpenId(site, "RS256");
    other = await startTestServer({
      settings: {
        controllers: false,
        "service-account-issuer": ["https://other.example.com"],
        "service-account-public-discovery": true,
      },
    });
    writeConfiguration(entryOf(site), {
      issuer: {
        url: "https://other.example.com",
        discoveryURL: `${other.url}/.well-known/openid-configuration`,
        audiences: ["signet"],
        certificateAuthority: other.caCertificates,
      },
      claimMappings: { username: { claim: "sub", prefix: "other:" } },
    });
    server = await startTestServer({ settings: { controllers: false, "authentication-config": file } });
  });
  after(async () => {
    await server.stop();
    await other.stop();
    await site[Symbol.asyncDispose]();
  });

  const review = async (token: string, audiences?: readonly string[]): Promise<Record<string, unknown>> => {
    const reviewed = await new InProcess(server).json<{ status: Record<string, unknown> }>(
      "/apis/authentication.platform.io/v1/tokenreviews",
      {
        method: "POST",
        body: { apiVersion: "authentication.platform.io/v1", kind: "TokenReview", spec: { token, audiences } },
      },
    );
    return reviewed.status;
  };
  /** Issuers' keys arrive in the background. */
  const accepted = async (token: string): Promise<void> => {
    while ((await review(token))["error"] === "[invalid bearer token, oidc: authenticator not initialized]") {
      await new Promise((resolve) => setImmediate(resolve));
    }
  };

  it("authenticates a program as the user of its token's claims", async () => {
    const token = await tokenFrom(site);
    await accepted(token);
    const { status } = await new InProcess(server).json<{ status: { userInfo: Record<string, unknown> } }>(
      "/apis/authentication.platform.io/v1/selfsubjectreviews",
      {
        method: "POST",
        token,
        body: { apiVersion: "authentication.platform.io/v1", kind: "SelfSubjectReview" },
      },
    );
    assert.equal(status.userInfo["username"], "ci:pipeline");
    assert.deepEqual(status.userInfo["groups"], ["ci:builders", "system:authenticated"]);
    const extra = status.userInfo["extra"] as Record<string, string[]>;
    assert.deepEqual(extra["example.com/team"], ["release"]);
    assert.match(extra["authentication.platform.io/credential-id"]?.[0] ?? "", /^JTI=./);
  });

  it("is reviewed for the audiences of this API, and for no others", async () => {
    const token = await tokenFrom(site);
    await accepted(token);
    const { authenticated, audiences } = await review(token, ["vault", "https://platform.default.svc"]);
    assert.equal(authenticated, true);
    assert.deepEqual(audiences, ["https://platform.default.svc"]);
    const refused = await review(token, ["vault"]);
    assert.equal(refused["authenticated"], undefined);
    assert.equal(refused["error"], "invalid bearer token");
  });

  it("grants nothing that no role grants", async () => {
    const token = await tokenFrom(site);
    await accepted(token);
    const { status } = await new InProcess(server).send("/api/v1/secrets", { token });
    assert.equal(status, 403);
  });

  it("is refused from the next request on when its token is revoked", async () => {
    const [token, kept] = [await tokenFrom(site), await tokenFrom(site)];
    await accepted(token);
    const { jti } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as { jti: string }; // a JWT's claims
    await server.client.request("/apis/signet.platform.io/v1/revocations", {
      method: "POST",
      body: {
        apiVersion: "signet.platform.io/v1",
        kind: "Revocation",
        metadata: { generateName: "stolen-" },
        spec: { token: { id: jti } },
      },
    });
    const statusOf = async (presented: string): Promise<number> =>
      (await new InProcess(server).send("/api/v1/secrets", { token: presented })).status;
    assert.equal(await statusOf(token), 401);
    assert.equal((await review(token))["authenticated"], undefined);
    assert.equal(await statusOf(kept), 403, "another token of the same user is as good as before");
  });

  it("accepts a service account of another Signet", async () => {
    const account = "/api/v1/namespaces/default/serviceaccounts";
    const body = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "remote" } };
    await other.client.request(account, { method: "POST", body });
    const issued = await other.client.request<{ status: { token: string } }>(`${account}/remote/token`, {
      method: "POST",
      body: {
        apiVersion: "authentication.platform.io/v1",
        kind: "TokenRequest",
        spec: { audiences: ["signet"], expirationSeconds: 600 },
      },
    });
    await accepted(issued.status.token);
    const { user } = await review(issued.status.token);
    assert.equal((user as { username: string }).username, "other:system:serviceaccount:default:remote");
  });

  it("allows anonymous requests only for the paths of the configuration", async () => {
    const statusOf = async (path: string): Promise<number> =>
      (await new InProcess(server).send(path, { token: "" })).status;
    assert.equal(await statusOf("/livez"), 200);
    assert.equal(await statusOf("/version"), 401);
  });
});

describe("oidc-provider that fails, hangs, lies, rotates and comes back", () => {
  it("never lets a wrong token in, never makes others wait, and serves again", async () => {
    await using site = await openTlsSite();
    writeConfiguration(entryOf(site));
    const clock = new TestClock();
    clock.milliseconds = Date.now();
    const log = keptLog();
    await provideOpenId(site, "RS256");
    const token = await tokenFrom(site);
    const { answer: right } = site;
    const faults: Readonly<Record<string, readonly [answer: TlsSite["answer"], fault: RegExp]>> = {
      error: [(_request, response) => response.writeHead(500).end(), /it answered 500/],
      redirect: [
        (_request, response) => response.writeHead(302, { location: "https://169.254.169.254/" }).end(),
        /it redirects, which is not followed/,
      ],
      endless: [(_request, response) => response.writeHead(200).end("x".repeat(2 ** 21)), /larger than 1 MiB/],
      noJson: [(_request, response) => response.writeHead(200).end("<html>"), /not JSON/],
      another: [
        (_request, response) => response.writeHead(200).end('{"issuer":"https://other.example.com"}'),
        /that of another issuer/,
      ],
      nobodys: [(_request, response) => response.writeHead(200).end("{}"), /names no issuer: correct issuer\.url/],
      cut: [(request) => request.destroy(), /socket hang up|ECONNRESET/],
      cutInBody: [
        (_request, response) => {
          response.writeHead(200, { "content-length": 100 });
          response.write("{", () => response.destroy());
        },
        /openid-configuration: its answer broke off/,
      ],
    };
    site.answer = (_request, response) => response.writeHead(503).end();
    const issuers = openIssuers({ type: "file", file }, issuersOptions({ clock, log, apiAudiences: api }));
    let told = 0;
    const nextReport = async (): Promise<string> => {
      while (log.lines.length === told) await new Promise((resolve) => setImmediate(resolve));
      told = log.lines.length;
      return log.lines.at(-1) ?? "";
    };
    const outcome = async (of: string): Promise<TokenOutcome["outcome"]> =>
      (await issuers.verify(of, checkFor(api))).outcome;
    assert.match(await nextReport(), /it answered 503/);
    for (const [answer, fault] of Object.values(faults)) {
      site.answer = answer;
      clock.passSeconds(10);
      assert.ok(
        !(issuers.verify(token, checkFor(api)) instanceof Promise),
        "a token of an issuer that is away waits for nothing",
      );
      assert.match(await nextReport(), fault);
    }

    site.answer = right;
    clock.passSeconds(10);
    await outcome(token);
    assert.match(await nextReport(), /the issuer's keys are there/);
    assert.equal(await outcome(token), "authenticated");

    for (const algorithm of ["PS256", "ES384"] as const) {
      await provideOpenId(site, algorithm);
      clock.passSeconds(10);
      assert.equal(await outcome(await tokenFrom(site)), "authenticated");
      assert.equal(await outcome(token), "refused", "the key before is not published any more");
    }

    const fresh = await tokenFrom(site);
    let hangs = 0;
    site.answer = () => hangs++;
    clock.passSeconds(60);
    await provideOpenIdElsewhere(async (stranger) => assert.equal(await outcome(stranger), "notApplicable"));
    assert.equal(await outcome(fresh), "authenticated");
    issuers.close();
  });
});

/** A token of an issuer that is not configured. */
async function provideOpenIdElsewhere(use: (token: string) => Promise<void>): Promise<void> {
  await using site = await openTlsSite();
  await provideOpenId(site, "ES384");
  await use(await tokenFrom(site));
}
