import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import { readFileSync, writeFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import type { ClientHttp2Session } from "node:http2";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connect } from "node:tls";
import type { ConnectionOptions, TLSSocket } from "node:tls";
import pino from "pino";
import { readKubeconfig } from "../../../src/machinery/client/kubeconfig/kubeconfig.ts";
import { parseServerConfig } from "../../../src/server/settings/server-config.ts";
import { tlsWarnings } from "../../../src/server/tls/tls-certificate.ts";
import { dataDirectoryAuthority, issuePair } from "../../features/certificates/data-directory-authority.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const folder = temporaryFolder();
const file = (name: string): string => join(folder, name);
const authority = dataDirectoryAuthority(folder);

/** Writes a new certificate and key as NAME.crt and NAME.key. Returns the two files as the setting has them. */
function writePair(name: string, names: Parameters<typeof issuePair>[1]): string {
  const { certificate, key } = issuePair(authority, names);
  writeFileSync(file(`${name}.crt`), certificate);
  writeFileSync(file(`${name}.key`), key, { mode: 0o600 });
  return `${file(`${name}.crt`)},${file(`${name}.key`)}`;
}

async function open(server: TestServer, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ host: "127.0.0.1", port: server.port, rejectUnauthorized: false, ...options });
  await once(socket, "secureConnect");
  return socket;
}

async function seenBy<T>(
  server: TestServer,
  { see, ...options }: ConnectionOptions & { see: (socket: TLSSocket) => T },
): Promise<T> {
  const socket = await open(server, options);
  const seen = see(socket);
  socket.destroy();
  return seen;
}

/** The common name in the certificate for a server name. */
const shownFor = (server: TestServer, servername?: string): Promise<string | undefined> =>
  seenBy(server, {
    ...(servername !== undefined && { servername }),
    see: (socket) => socket.getPeerCertificate().subject.CN?.toString(),
  });

async function statusOf(session: ClientHttp2Session, path: string): Promise<number | undefined> {
  const stream = session.request({ ":path": path });
  stream.resume();
  const [headers] = (await once(stream, "response")) as [{ ":status"?: number }];
  return headers[":status"];
}

const refused = { code: "ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE" };
const groupOf = (socket: TLSSocket): string | undefined =>
  (socket.getEphemeralKeyInfo() as { readonly name?: string }).name;

describe("a server with certificates for server names, and its own choice of suites and groups", () => {
  const errors: { readonly setting?: string; readonly reason?: string }[] = [];
  let server: TestServer;
  before(async () => {
    writePair("own", { commonName: "own", dnsNames: ["own.test"] });
    const [first, second, third] = [
      writePair("first", { commonName: "first", dnsNames: ["first.test", "shared.test", "exact.named.test"] }),
      writePair("second", { commonName: "second", dnsNames: ["second.test", "shared.test", "*.wild.test"] }),
      writePair("third", { commonName: "third", dnsNames: ["unused.test"] }),
    ];
    server = await startTestServer({
      settings: {
        "tls-cert-file": file("own.crt"),
        "tls-private-key-file": file("own.key"),
        "tls-sni-cert-key": [first, second, `${third}:*.named.test, Exact.Named.test`],
        "tls-cipher-suites":
          "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_AES_128_GCM_SHA256",
        "tls-curve-preferences": "24,CurveP256",
      },
      log: pino({ level: "error" }, { write: (line) => void errors.push(JSON.parse(line) as object) }),
    });
  });

  it("serves the certificate for the name that the client asks for", async () => {
    for (const [name, shown] of [
      ["first.test", "first"],
      ["FIRST.Test", "first"],
      ["second.test", "second"],
      ["a.wild.test", "second"],
      ["a.named.test", "third"],
    ] as const) {
      assert.equal(await shownFor(server, name), shown, name);
    }
  });

  it("prefers names of the setting to those of certificates, and the first pair to later ones", async () => {
    assert.equal(await shownFor(server, "exact.named.test"), "third");
    assert.equal(await shownFor(server, "shared.test"), "first");
  });

  it("serves its own certificate for any other name, and without a name", async () => {
    for (const name of ["own.test", "other.test", "wild.test", "a.b.wild.test", "unused.test", undefined]) {
      assert.equal(await shownFor(server, name), "own", name ?? "no name");
    }
  });

  it("authenticates client certificates under each name, and resumes no session", async () => {
    const { clientCertificate } = readKubeconfig({ file: server.kubeconfigFile }).transport;
    assert.ok(clientCertificate);
    const { certificate: cert, key } = clientCertificate;
    const session = connectHttp2(server.url, { cert, key, servername: "second.test", rejectUnauthorized: false });
    assert.equal(await statusOf(session, "/api/v1/secrets"), 200);
    session.destroy();
    const options = { servername: "second.test", maxVersion: "TLSv1.2" } as const;
    const earlier = await seenBy(server, { ...options, see: (socket) => socket.getSession() });
    assert.ok(earlier);
    const newer = connect({
      host: "127.0.0.1",
      port: server.port,
      rejectUnauthorized: false,
      servername: "second.test",
    });
    const [ticket] = (await once(newer, "session")) as [Buffer];
    newer.destroy();
    const isReusedLater = await seenBy(server, { session: ticket, see: (socket) => socket.isSessionReused() });
    assert.equal(isReusedLater, false);
    const isReused = await seenBy(server, { ...options, session: earlier, see: (socket) => socket.isSessionReused() });
    assert.equal(isReused, false);
  });

  it("uses only the named suites for TLS 1.2, and of these the first one that the client supports", async () => {
    const see = (socket: TLSSocket): string => socket.getCipher().standardName;
    const ciphers = "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES128-GCM-SHA256";
    for (const servername of ["other.test", "first.test"]) {
      const options = { servername, maxVersion: "TLSv1.2" } as const;
      const suite = await seenBy(server, { ...options, ciphers, see });
      assert.equal(suite, "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256");
      await assert.rejects(open(server, { ...options, ciphers: "ECDHE-ECDSA-AES128-GCM-SHA256" }), refused);
    }
    assert.equal(await seenBy(server, { see: (socket) => socket.getProtocol() }), "TLSv1.3");
  });

  it("speaks HTTP/2 under each name, even after a HelloRetryRequest", async () => {
    for (const servername of ["other.test", "first.test"]) {
      for (const versions of [{}, { maxVersion: "TLSv1.2" }, { ecdhCurve: "P-384" }] as const) {
        const ALPNProtocols = ["h2", "http/1.1"];
        const see = (socket: TLSSocket): string | false | null => socket.alpnProtocol;
        assert.equal(await seenBy(server, { ...versions, servername, ALPNProtocols, see }), "h2");
      }
    }
  });

  it("exchanges keys only in the named groups", async () => {
    for (const servername of ["other.test", "first.test"]) {
      const group = await seenBy(server, { servername, see: groupOf });
      assert.match(String(group), /^(?:P-384|secp384r1)$/);
      await assert.rejects(open(server, { servername, ecdhCurve: "X25519" }), refused);
    }
  });

  it("offers openssl s_client exactly the configured versions, suites, groups and certificates", async () => {
    const client = async (...args: readonly string[]): Promise<string> => {
      const asked = promisify(execFile)("openssl", ["s_client", "-connect", `127.0.0.1:${server.port}`, ...args]);
      asked.child.stdin?.end();
      const { stdout, stderr } = await asked.catch((error: { stdout: string; stderr: string }) => error);
      return stdout + stderr;
    };
    assert.match(await client("-tls1_3"), /New, TLSv1\.3, Cipher is TLS_/);
    assert.match(await client("-tls1_2"), /TLSv1\.2, Cipher is ECDHE-ECDSA-CHACHA20-POLY1305/);
    assert.match(await client("-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"), /Cipher is \(NONE\)/);
    assert.match(await client("-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"), /Cipher is \(NONE\)/);
    assert.match(await client("-groups", "P-256"), /Server Temp Key: ECDH, prime256v1/);
    assert.match(await client("-groups", "X25519"), /Cipher is \(NONE\)/);
    for (const [name, shown] of [
      ["second.test", "second"],
      ["other.test", "own"],
      // No client should ask for an address (RFC 6066 section 3); some do.
      ["127.0.0.1", "own"],
      ["::1", "own"],
    ] as const) {
      assert.match(await client("-servername", name), new RegExp(`subject=CN ?= ?${shown}\n`), name);
    }
  });

  it("serves a changed certificate to new connections, keeps open ones, and ignores a bad pair", async () => {
    const session = connectHttp2(server.url, { servername: "first.test", rejectUnauthorized: false });
    assert.equal(await statusOf(session, "/livez"), 200);
    const look = (): unknown[] => {
      errors.splice(0);
      server.readFilesAgain();
      return errors.map(({ setting }) => setting);
    };

    const dnsNames = ["first.test", "new.test"];
    writePair("first", { commonName: "renewed", dnsNames });
    assert.deepEqual(look(), []);
    assert.equal(await shownFor(server, "first.test"), "renewed");
    assert.equal(await shownFor(server, "new.test"), "renewed");
    assert.equal(await shownFor(server, "shared.test"), "second");

    writeFileSync(file("first.key"), "no key at all");
    assert.deepEqual(look(), ["tls-sni-cert-key"]);
    assert.match(String(errors[0]?.reason), /first\.key holds no private key that can be read/);
    assert.equal(await shownFor(server, "first.test"), "renewed");

    writePair("first", { commonName: "again", dnsNames });
    assert.deepEqual(look(), []);
    assert.equal(await shownFor(server, "first.test"), "again");
    assert.equal(await statusOf(session, "/livez"), 200);
    session.destroy();
  });
});

describe("a server with --tls-min-version", () => {
  let newer: TestServer;
  let usual: TestServer;
  before(async () => {
    newer = await startTestServer({ settings: { "tls-min-version": "VersionTLS13" } });
    usual = await startTestServer();
  });
  after(() => Promise.all([newer.stop(), usual.stop()]));

  const old = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" } as const;

  it("accepts that version and later ones", async () => {
    const see = (socket: TLSSocket): string | null => socket.getProtocol();
    const wrongVersion = { code: "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION" };
    assert.equal(await seenBy(newer, { see }), "TLSv1.3");
    assert.equal(await seenBy(usual, { see }), "TLSv1.3");
    assert.equal(await seenBy(usual, { see, maxVersion: "TLSv1.2" }), "TLSv1.2");
    await assert.rejects(open(newer, { maxVersion: "TLSv1.2" }), wrongVersion);
    await assert.rejects(open(newer, old), wrongVersion);
    await assert.rejects(open(usual, old), wrongVersion);
  });

  it("prefers the post-quantum hybrid group if the client supports it", async () => {
    assert.equal(await seenBy(usual, { see: groupOf }), "X25519MLKEM768");
    assert.equal(await seenBy(usual, { see: groupOf, ecdhCurve: "X25519" }), "X25519");
  });

  it("has only suites with forward secrecy by default", async () => {
    const ciphers = "AES128-GCM-SHA256:AES256-SHA:ECDHE-ECDSA-AES256-SHA384";
    await assert.rejects(open(usual, { maxVersion: "TLSv1.2", ciphers }), refused);
  });
});

describe("a TLS setting that cannot be used", () => {
  const usable = "is insecure; use some of TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, ";
  for (const [settings, message] of [
    [{ "tls-min-version": "VersionTLS11" }, "is not one of VersionTLS12, VersionTLS13"],
    [{ "tls-cipher-suites": "TLS_RSA_WITH_AES_128_GCM_SHA256" }, usable],
    [{ "tls-cipher-suites": "TLS_ECDHE_RSA_WITH_RC4_128_SHA" }, usable],
    [{ "tls-cipher-suites": "ECDHE-RSA-AES128-GCM-SHA256" }, "is not a known suite; use some of TLS_"],
    [{ "tls-cipher-suites": "TLS_AES_128_GCM_SHA256" }, "to exclude TLS 1.2 give --tls-min-version VersionTLS13"],
    [
      { "tls-cipher-suites": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "tls-min-version": "VersionTLS13" },
      "leave out one of them",
    ],
    [{ "tls-curve-preferences": "29,30" }, '"30" is not one of 4588 (X25519MLKEM768), '],
    [{ "tls-curve-preferences": "4588" }, "TLS 1.2 has none of these groups"],
    [{ "tls-sni-cert-key": "tls.crt" }, "is not the files of a certificate and its key"],
    [{ "tls-sni-cert-key": "a.crt,a.key,b.crt,b.key" }, "is not the files of a certificate and its key"],
    [{ "tls-sni-cert-key": "a.crt,a.key:" }, 'has "", which is neither a DNS name'],
    [{ "tls-sni-cert-key": "a.crt,a.key:a.*.com" }, 'has "a.*.com", which is neither a DNS name'],
    [{ "tls-sni-cert-key": "a.crt,a.key:10.0.0.1" }, "addresses belong into the certificate of --tls-cert-file"],
  ] as const) {
    it(`ends the start with one line: ${JSON.stringify(settings)}`, () => {
      assert.throws(
        () => parseServerConfig({ commandLine: settings, file: {} }),
        ({ name, message: text }: Error) => name === "UsageError" && text.includes(message) && !text.includes("\n"),
      );
    });
  }

  it("ends the start with one line when a pair does not match, or has no name", async () => {
    const [one] = writePair("one", { commonName: "one" }).split(",");
    const [, other] = writePair("another", { commonName: "not a name" }).split(",");
    const start = (pair: string): Promise<TestServer> => startTestServer({ settings: { "tls-sni-cert-key": [pair] } });
    await assert.rejects(start(`${one},${other}`), /^UsageError: --tls-sni-cert-key: the key in .+ does not belong /);
    await assert.rejects(
      start(`${file("another.crt")},${other}`),
      /another\.crt has no DNS name: give the names for it/,
    );
    await assert.rejects(start(`${file("missing.crt")},${other}`), /^UsageError: --tls-sni-cert-key: cannot read /);
  });
});

describe("the start of a server with a list of suites", () => {
  const warningsOf = (suites: string): string[] => {
    const { listener } = parseServerConfig({ commandLine: { "tls-cipher-suites": suites }, file: {} });
    writePair("warned", { commonName: "warned" });
    return tlsWarnings(listener.tls, { cert: readFileSync(file("warned.crt"), "utf8"), key: "" });
  };

  it("warns of clients with TLS 1.2 that cannot connect, or cannot speak HTTP/2", () => {
    assert.deepEqual(warningsOf("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"), []);
    assert.match(warningsOf("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256").join(), /no suite for the ECDSA key/);
    assert.match(warningsOf("TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA").join(), /only suites that HTTP\/2 forbids/);
  });
});
