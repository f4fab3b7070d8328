import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { describe, it } from "node:test";
import { refuseHandshake } from "../../../../../src/machinery/http/connections/http1/web-socket-handshake.ts";
import { createCertificateAuthority } from "../../../../../src/pki/certificates/certificate-authority.ts";
import { generatePrivateKey } from "../../../../../src/pki/keys/keys.ts";

const { certificate } = createCertificateAuthority({
  subject: { commonName: "user" },
  privateKey: generatePrivateKey("ECDSA P-256"),
  notBefore: 0,
  notAfter: 1000,
});
const handshake = { "sec-websocket-version": "13", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" };
const check = (headers: Record<string, string | string[]>, peerCertificates: readonly X509Certificate[] = []) => {
  const connection = { peerCertificates, remoteAddress: "127.0.0.1" };
  refuseHandshake({ headers: { ...handshake, ...headers }, connection });
};

describe("a WebSocket handshake", () => {
  it("is RFC 6455's", () => {
    check({});
    check({ "sec-websocket-protocol": "v4.channel.k8s.io, base64.binary.k8s.io" });
  });

  for (const [what, headers] of [
    ["of another version", { "sec-websocket-version": "8" }],
    ["of two versions", { "sec-websocket-version": ["13", "13"] }],
    ["with a short key", { "sec-websocket-key": "dGhlIHNhbXBsZQ==" }],
    ["with a key that is not base64", { "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZ!==" }],
    ["with two keys", { "sec-websocket-key": [handshake["sec-websocket-key"], handshake["sec-websocket-key"]] }],
    ["with a subprotocol that is no word", { "sec-websocket-protocol": "a b" }],
    ["with an empty subprotocol", { "sec-websocket-protocol": "a,,b" }],
    ["with a subprotocol twice", { "sec-websocket-protocol": "a, a" }],
  ] as const) {
    it(`is refused: one ${what}`, () => {
      assert.throws(() => check(headers as Record<string, string | string[]>), { code: 400 });
    });
  }

  it("comes from a page of this server when the browser sends its user's certificate", () => {
    const user = [new X509Certificate(certificate.der)];
    const host = "signet.example:6443";
    check({ host, origin: "https://signet.example:6443" }, user);
    check({ host }, user);
    check({ host, origin: "https://evil.example" });
    for (const origin of [`http://${host}`, "https://evil.example", "https://signet.example", "null", ""]) {
      assert.throws(() => check({ host, origin }, user), { code: 403 }, origin);
    }
    const origins = ["https://signet.example:6443", "https://evil.example"];
    assert.throws(() => check({ host, origin: origins }, user), { code: 403 });
  });
});
