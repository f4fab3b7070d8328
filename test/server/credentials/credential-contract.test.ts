import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { HttpRequest } from "../../../src/machinery/api/http-message.ts";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { bearerToken, webSocketToken } from "../../../src/machinery/authentication/bearer-token.ts";
import type { Secret } from "../../../src/features/core/secrets.ts";
import { bootstrapTokens } from "../../../src/features/nodes/bootstrap/bootstrap-tokens.ts";
import { clientCertificate } from "../../../src/features/access/credentials/client-certificate.ts";
import type { Credential } from "../../../src/machinery/authentication/credential.ts";
import { identityHeaderRemover } from "../../../src/machinery/authentication/identity-headers.ts";
import { frontProxy, standardFrontProxyHeaders } from "../../../src/features/access/credentials/front-proxy.ts";
import { parseTokenFile } from "../../../src/features/access/credentials/static-token-file.ts";
import { forApiAudiences } from "../../../src/machinery/authentication/token-authentication.ts";
import { apiAudience, bob, scene, TestClock } from "../../features/accounts/tokens/token-scene.ts";
import {
  newAuthority,
  newCertificate,
  oneHour,
  request,
  startOf2026,
} from "../../features/access/certificate-scene.ts";

interface CredentialCase {
  readonly credential: Credential;
  readonly absent: Readonly<Record<string, HttpRequest>>;
  readonly bad: Readonly<Record<string, HttpRequest>>;
  readonly good: HttpRequest;
  readonly username: string;
}

const authority = newAuthority("clients");
const stranger = newAuthority("strangers");
const certificates = { roots: roots([authority.certificate]), clock: new TestClock(), names: platformNames };
const proxied = { ...certificates, headers: standardFrontProxyHeaders, isUserRequired: false };
const tokens = scene();
const apiToken = tokens.issue(bob, { audiences: [apiAudience], lifetimeSeconds: 600 });

function roots<T>(list: readonly T[]): () => readonly T[] {
  return () => list;
}

const bearer = (token: string): HttpRequest => request({ authorization: `Bearer ${token}` });
const subprotocol = (token: string): string =>
  `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString("base64url")}`;
const handshake = (subprotocols: string): HttpRequest => ({
  ...request({ "sec-websocket-protocol": subprotocols }),
  isWebSocket: true,
});
const bootstrapSecret = (id: string, { type = "bootstrap.platform.io/token", expiration = "" } = {}): Secret => {
  const texts = {
    "token-id": id,
    "token-secret": "0123456789abcdef",
    "usage-bootstrap-authentication": "true",
    expiration,
  };
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: `bootstrap-token-${id}`, namespace: "platform-system" },
    type,
    data: Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")])),
  };
};
const bootstrapSecrets = [
  bootstrapSecret("abcdef"),
  bootstrapSecret("nowold", { expiration: "2025-12-31T23:59:59Z" }),
  bootstrapSecret("opaque", { type: "Opaque" }),
];
const noCertificate = request({ "x-remote-user": "alice" });
const badCertificates = {
  "of another CA": request({}, [newCertificate(stranger)]),
  "that has ended": request({}, [newCertificate(authority, { notAfter: startOf2026 - 1000 })]),
  "that has not begun": request({}, [newCertificate(authority, { notBefore: startOf2026 + 2000 })]),
  "for servers": request({}, [newCertificate(authority, { extendedKeyUsages: ["serverAuth"] })]),
  "for no stated use": request({}, [newCertificate(authority, { extendedKeyUsages: [] })]),
  "of a CA": request({}, [newCertificate(authority, { isCA: true })]),
  "of another CA, with the right CA sent along": request({}, [newCertificate(stranger), newCertificate(authority)]),
};
const withProxyHeaders = (requests: Readonly<Record<string, HttpRequest>>): Record<string, HttpRequest> =>
  Object.fromEntries(
    Object.entries(requests).map(([name, one]) => [name, { ...one, headers: { "x-remote-user": "alice" } }]),
  );
const proxy = { subject: { commonName: "proxy" } };

const credentials: Readonly<Record<string, CredentialCase>> = {
  "a client certificate": {
    credential: clientCertificate(certificates),
    absent: {
      "no certificate": noCertificate,
      "no common name": request({}, [newCertificate(authority, { subject: { organizations: ["x"] } })]),
    },
    bad: badCertificates,
    good: request({}, [newCertificate(authority)]),
    username: "alice",
  },
  "a front proxy": {
    credential: frontProxy({ ...proxied, allowedNames: ["proxy"] }),
    absent: {
      "headers without a certificate": noCertificate,
      "a proxy's certificate without headers": request({}, [newCertificate(authority, proxy)]),
      "a proxy's certificate with headers in underscores": request({ x_remote_user: "alice" }, [
        newCertificate(authority, proxy),
      ]),
    },
    bad: {
      ...withProxyHeaders(badCertificates),
      "a name that is not allowed": request({ "x-remote-user": "alice" }, [newCertificate(authority)]),
    },
    good: request({ "x-remote-user": "carol" }, [newCertificate(authority, proxy)]),
    username: "carol",
  },
  "a service account token": {
    credential: bearerToken(tokens.verify, [apiAudience]),
    absent: {
      "no header": request(),
      "an empty header": request({ authorization: "" }),
      "Bearer alone": request({ authorization: "Bearer" }),
      "Bearer and a space": request({ authorization: "Bearer " }),
      "two spaces": request({ authorization: `Bearer  ${apiToken}` }),
      "another scheme": request({ authorization: `Token ${apiToken}` }),
      "no scheme": request({ authorization: apiToken }),
      "an equals sign": request({ authorization: `Bearer=${apiToken}` }),
      Basic: request({ authorization: "Basic YWxpY2U6cHc=" }),
      "a token in the query": { ...request(), query: `access_token=${apiToken}` },
    },
    bad: {
      garbage: bearer("garbage"),
      "a changed token": bearer(`${apiToken}A`),
      "another audience": bearer(tokens.issue(bob, { audiences: ["vault"], lifetimeSeconds: 600 })),
      "the bad one of two headers": request({ authorization: ["Bearer garbage", `Bearer ${apiToken}`] }),
    },
    good: bearer(apiToken),
    username: "system:serviceaccount:ns:bob",
  },
  "a token of a WebSocket's subprotocols": {
    credential: webSocketToken(tokens.verify, [apiAudience]),
    absent: {
      "no header": { ...request(), isWebSocket: true },
      "other subprotocols": handshake("base64.binary.k8s.io"),
      "an empty token": handshake("base64url.bearer.authorization.k8s.io., base64.binary.k8s.io"),
      "a request that is no handshake": request({ "sec-websocket-protocol": `${subprotocol(apiToken)}, x` }),
    },
    bad: {
      garbage: handshake(`${subprotocol("garbage")}, x`),
      "the token alone": handshake(subprotocol(apiToken)),
      "two tokens": handshake(`${subprotocol(apiToken)}, ${subprotocol(apiToken)}, x`),
      "a token as it is": handshake(`base64url.bearer.authorization.k8s.io.${apiToken}, x`),
      "a token with padding": handshake("base64url.bearer.authorization.k8s.io.YQ==, x"),
      "a token that is not UTF-8": handshake("base64url.bearer.authorization.k8s.io._w, x"),
      "another audience": handshake(
        `x, ${subprotocol(tokens.issue(bob, { audiences: ["vault"], lifetimeSeconds: 600 }))}`,
      ),
    },
    good: { ...request({ "sec-websocket-protocol": ["x", subprotocol(apiToken)] }), isWebSocket: true },
    username: "system:serviceaccount:ns:bob",
  },
  "a token of the token file": {
    credential: bearerToken(forApiAudiences(parseTokenFile('secret,dave,uid-1,"a,b"'), [apiAudience]), [apiAudience]),
    absent: { "no header": request() },
    bad: { "another token": bearer("Secret"), "part of the token": bearer("secre") },
    good: bearer("secret"),
    username: "dave",
  },
  "a bootstrap token": {
    credential: bearerToken(
      forApiAudiences(
        bootstrapTokens({
          names: platformNames,
          clock: new TestClock(),
          isLocked: () => false,
          findSecret: (name) => bootstrapSecrets.find(({ metadata }) => metadata.name === name),
        }),
        [apiAudience],
      ),
      [apiAudience],
    ),
    absent: { "no header": request() },
    bad: {
      "a wrong secret": bearer("abcdef.0123456789abcdee"),
      "an unknown id": bearer("abcdeg.0123456789abcdef"),
      "one that has expired": bearer("nowold.0123456789abcdef"),
      "a Secret of another type": bearer("opaque.0123456789abcdef"),
      "an id that is no id": bearer("../../x.0123456789abcdef"),
    },
    good: bearer("abcdef.0123456789abcdef"),
    username: "system:bootstrap:abcdef",
  },
};

for (const [name, { credential, absent, bad, good, username }] of Object.entries(credentials)) {
  describe(name, () => {
    for (const [what, one] of Object.entries(absent)) {
      it(`is absent from: ${what}`, async () =>
        assert.equal((await credential.authenticate(one)).outcome, "notApplicable"));
    }
    for (const [what, one] of Object.entries(bad)) {
      it(`is refused when it is: ${what}`, async () => {
        const answer = await credential.authenticate(one);
        assert.ok(answer.outcome === "refused");
        const [, token = "none"] = String(one.headers["authorization"]).split(" ");
        assert.ok(!answer.message.includes(token));
      });
    }
    it("identifies its user in each of several requests", async () => {
      for (let times = 0; times < 2; times++) {
        const answer = await credential.authenticate(good);
        assert.ok(answer.outcome === "authenticated");
        assert.equal(answer.user.username, username);
      }
    });
  });
}

describe("a client certificate", () => {
  it("gives its organizations as groups, and its SHA-256 as the credential's id", async () => {
    const certificate = newCertificate(authority);
    const answer = await clientCertificate(certificates).authenticate(request({}, [certificate]));
    assert.ok(answer.outcome === "authenticated");
    assert.deepEqual(answer.user.groups, ["dev", "ops"]);
    const fingerprint = certificate.fingerprint256.replaceAll(":", "").toLowerCase();
    assert.deepEqual(answer.user.extra, { "authentication.platform.io/credential-id": [`X509SHA256=${fingerprint}`] });
  });

  it("is refused after its end, also on a connection that was opened before", async () => {
    const clock = new TestClock();
    const { authenticate } = clientCertificate({ ...certificates, clock });
    const connection = request({}, [newCertificate(authority)]);
    assert.equal((await authenticate(connection)).outcome, "authenticated");
    clock.passSeconds(oneHour / 1000 + 1);
    assert.equal((await authenticate(connection)).outcome, "refused");
  });

  it("is checked once for each connection, even when the list of CAs is replaced by an equal one", async () => {
    let questions = 0;
    const counted = new Proxy(authority.certificate, {
      get: (certificate, key) => (key === "rawSubject" && questions++, Reflect.get(certificate, key) as unknown),
    });
    const { authenticate } = clientCertificate({ ...certificates, roots: () => [counted] });
    const connection = request({}, [newCertificate(authority)]);
    await authenticate(connection);
    const first = questions;
    await authenticate(connection);
    assert.ok(first > 0);
    assert.equal(questions, first);
  });

  it("is refused once its CA is removed", async () => {
    let current = [authority.certificate];
    const { authenticate } = clientCertificate({ ...certificates, roots: () => current });
    const connection = request({}, [newCertificate(authority)]);
    assert.equal((await authenticate(connection)).outcome, "authenticated");
    current = [stranger.certificate];
    assert.equal((await authenticate(connection)).outcome, "refused");
  });
});

it("a front proxy's request has groups, uid and extra, with keys in lower case and decoded", async () => {
  const { authenticate } = frontProxy({ ...proxied, allowedNames: [] });
  const headers = {
    "x-remote-user": "carol",
    "x-remote-uid": "u-1",
    "x-remote-group": ["a", "", "b"],
    "x-remote-extra-example.org%2Fteam": ["x", "y"],
    "x-remote-extra-bad%zz": "kept",
    "x-remote-extra-__proto__": "z",
  };
  const answer = await authenticate(request(headers, [newCertificate(authority, proxy)]));
  assert.ok(answer.outcome === "authenticated");
  const { extra, ...user } = answer.user;
  assert.deepEqual(user, { username: "carol", uid: "u-1", groups: ["a", "b"] });
  assert.deepEqual(Object.entries(extra), [
    ["example.org/team", ["x", "y"]],
    ["bad%zz", ["kept"]],
    ["__proto__", ["z"]],
  ]);
});

describe("every credential that reads a header", () => {
  for (const [name, { credential, good }] of Object.entries(credentials)) {
    it(`declares the headers that it reads, so that they are removed: ${name}`, async () => {
      const stripped = identityHeaderRemover([credential.headers])(good);
      const isByHeader = Object.keys(good.headers).length > 0;
      assert.equal((await credential.authenticate(stripped)).outcome, isByHeader ? "notApplicable" : "authenticated");
    });
  }
});
