import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { describe, it } from "node:test";
import { UsageError } from "../../../src/machinery/command-line/settings/flag.ts";
import type { Flag, Flags } from "../../../src/machinery/command-line/settings/flag.ts";
import { parseServerConfig, serveFlags } from "../../../src/server/settings/server-config.ts";

type Given = Readonly<Record<string, unknown>>;

/** Flags that say nothing alone, and what is given beside them. */
const beside: readonly (readonly [flags: RegExp, given: Given])[] = [
  [/^etcd-/, { "etcd-servers": ["https://127.0.0.1:2379"] }],
  [/^etcd-(?:cert|key)file$/, { "etcd-certfile": "/certificate", "etcd-keyfile": "/key" }],
  [/^encryption-provider/, { "encryption-provider-config": "/configuration" }],
  [/^tls-(?:cert|private-key)-file$/, { "tls-cert-file": "/certificate", "tls-private-key-file": "/key" }],
  [/^requestheader-/, { "requestheader-client-ca-file": "/ca" }],
  [/^authorization-webhook-/, { "authorization-mode": ["Webhook"], "authorization-webhook-config-file": "/webhook" }],
  [/^oidc-/, { "oidc-issuer-url": "https://login.example.com", "oidc-client-id": "signet" }],
  [/^authentication-token-webhook-/, { "authentication-token-webhook-config-file": "/webhook" }],
  [/^(?:crl-|revocation-)/, { "revocation-url": "http://pki.example.com" }],
  [/^audit-/, { "audit-log-path": "/log", "audit-webhook-config-file": "/webhook" }],
  [/^audit-log-batch-/, { "audit-log-mode": "batch", "audit-log-batch-throttle-enable": true }],
  [/^audit-log-truncate-/, { "audit-log-truncate-enabled": true }],
  [/^audit-log-(?:chain-|checkpoint-)/, { "audit-log-chain": true }],
  [/^audit-webhook-truncate-/, { "audit-webhook-truncate-enabled": true }],
];

const pairOf = (flag: string): Given => {
  const [, start = ""] = /^(.*-)(?:cert|key)-file$/.exec(flag) ?? [];
  return { [`${start}cert-file`]: "/certificate", [`${start}key-file`]: "/key" };
};

function givenBeside(flag: string): Given {
  const pair = /^cluster-signing-.*file$/.test(flag) ? pairOf(flag) : {};
  return Object.assign({}, pair, ...beside.filter(([flags]) => flags.test(flag)).map(([, given]) => given));
}

/** Values that a flag of this type may take; no flag takes all of them. */
function valuesOf(flag: Flag): unknown[] {
  const texts = ["2", "other.example.com", "https://other.example.com", "127.0.0.9:80", "/other"];
  switch (flag.type) {
    case "boolean":
      return [true, false];
    case "integer":
      return [flag.minimum, flag.maximum];
    case "duration":
      return ["90m", "30h"];
    case "file":
      return ["/other"];
    case "string":
      return [...(flag.choices ?? []), ...texts];
    case "strings": {
      const ofOneFlag = [
        "https://127.0.0.1:1",
        "claim=value",
        "/a,/b",
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        "29",
        "-*",
      ];
      return [...(flag.choices ?? []), ...texts, ...ofOneFlag].map((text) => [text]);
    }
  }
}

function changesSettings(name: string, flag: Flag): boolean {
  const given = givenBeside(name);
  const parsed = (more: Given): object => {
    // Names are functions, which are never equal.
    const { names: _, ...settings } = parseServerConfig({ commandLine: { ...given, ...more }, file: {} });
    return settings;
  };
  const before = parsed({});
  return valuesOf(flag).some((value) => {
    try {
      return !isDeepStrictEqual(parsed({ [name]: value }), before);
    } catch (error) {
      assert.ok(error instanceof UsageError, String(error));
      return false;
    }
  });
}

describe("each flag of signet serve", () => {
  it("that takes a URL refuses one without showing its password", () => {
    for (const flag of ["etcd-servers", "service-account-jwks-uri", "revocation-url"]) {
      assert.throws(
        () => parseServerConfig({ commandLine: { [flag]: "http://ann:secret@a b" }, file: {} }),
        (error) => error instanceof UsageError && error.message.includes(flag) && !/secret/.test(error.message),
      );
    }
  });

  it("that names members of etcd takes URLs with a port, also with the usual one of their scheme", () => {
    const serversOf = (url: string) =>
      parseServerConfig({ commandLine: { "etcd-servers": url }, file: {} }).storage as { servers?: string[] };
    for (const url of ["https://etcd.test:443", "http://127.0.0.1:80/", "https://[fd00::1]:2379"])
      assert.equal(serversOf(url).servers?.length, 1, url);
    for (const url of ["https://etcd.test", "etcd.test:2379", "https://etcd.test:2379/v3", "ftp://etcd.test:2379"])
      assert.throws(() => serversOf(url), /^UsageError: --etcd-servers: ".*" must be http:\/\/host:port or https/, url);
  });

  it("that names revocation information takes only a plain URL, because certificates contain it", () => {
    const revocationOf = (url: string) =>
      parseServerConfig({ commandLine: { "revocation-url": url }, file: {} }).controllers.certificates.revocation?.url;
    const longest = `http://pki.example.com/${"a".repeat(256 - 23)}`;
    for (const url of ["http://pki.example.com", "https://[fd00::1]:8080/a%20b", longest])
      assert.equal(revocationOf(url), url);
    assert.equal(revocationOf("http://pki.example.com/"), "http://pki.example.com", "paths follow it");
    for (const url of [
      ...["pki.example.com", "//pki.example.com", "http://", "ldap://pki.example.com", "file:///etc/passwd"],
      ...["http://ann:secret@pki.example.com", "http://ann@pki.example.com", "http://:secret@pki.example.com"],
      ...["http://a.test?x", "http://a.test/?", "http://a.test#x", "http://a.test/#", "http://a.test/a b"],
      ...[" http://a.test", "http://a.test\n", "http://ä.test", "http://a.test/\u007f", `${longest}a`],
      ...Array.from('"<>\\^`{|}', (character) => `http://a.test/${character}`),
    ]) {
      assert.throws(() => revocationOf(url), /^UsageError: --revocation-url must be a URL such as/, url);
    }
  });

  it("changes the settings, unless it permits others, chooses names or has a single value", () => {
    const flags: Flags = serveFlags;
    const unheard = Object.entries(flags).filter(([name, flag]) => !changesSettings(name, flag));
    assert.deepEqual(
      unheard.map(([name]) => name),
      ["etcd-allow-plaintext", "profile", "upstream-names", "audit-log-version", "audit-webhook-version"],
    );
  });
});
