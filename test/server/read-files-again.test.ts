import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connect } from "node:tls";
import pino from "pino";
import type { AuthorityInFiles } from "../../src/features/certificates/authorities/authority-in-files.ts";
import type { PemKeyPair } from "../../src/pki/key-stores/pem-key-pair.ts";
import { dataDirectoryAuthority, issuePair } from "../features/certificates/data-directory-authority.ts";
import { startTestServer } from "../test-server.ts";
import type { TestServer } from "../test-server.ts";

const folder = mkdtempSync(join(tmpdir(), "signet-read-again-"));
const file = (name: string): string => join(folder, name);
const write = (name: string, text: string): void => writeFileSync(file(name), text, { mode: 0o600 });

const authority = (name: string): AuthorityInFiles =>
  dataDirectoryAuthority(folder, { baseName: name, commonName: name });
const certificateOf = (from: AuthorityInFiles, commonName: string): PemKeyPair =>
  issuePair(from, { commonName, ipAddresses: ["127.0.0.1"] });

interface Caller {
  readonly token?: string;
  readonly certificate?: PemKeyPair;
  readonly headers?: Readonly<Record<string, string>>;
}

describe("the files that a server's settings name", () => {
  const [one, other] = [authority("one"), authority("other")];
  const errors: { readonly setting?: string; readonly reason?: string }[] = [];
  let server: TestServer;

  const serve = (pair: PemKeyPair): void => {
    write("tls.crt", pair.certificate);
    write("tls.key", pair.key);
  };
  const servedBy = async (): Promise<string | undefined> => {
    const socket = connect({ host: "127.0.0.1", port: server.port, rejectUnauthorized: false });
    await once(socket, "secureConnect");
    const { subject } = socket.getPeerCertificate();
    socket.destroy();
    return subject.CN?.toString();
  };
  /** The user name that the server gives a caller, or the status of the refusal. */
  const nameOf = async ({ token, certificate, headers }: Caller): Promise<string | number> => {
    const asking = request(`${server.url}/apis/authentication.k8s.io/v1/selfsubjectreviews`, {
      agent: false,
      method: "POST",
      rejectUnauthorized: false,
      ...(certificate !== undefined && { cert: certificate.certificate, key: certificate.key }),
      headers: {
        "content-type": "application/json",
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...headers,
      },
    });
    asking.end(JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }));
    const [response] = (await once(asking, "response")) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    if (response.statusCode !== 201) return response.statusCode ?? 0;
    const review = JSON.parse(Buffer.concat(chunks).toString()) as { status: { userInfo: { username: string } } };
    return review.status.userInfo.username;
  };

  before(async () => {
    serve(certificateOf(one, "first"));
    write("clients.crt", one.pem);
    write("proxies.crt", one.pem);
    write("tokens.csv", "early,ann,ann\n");
    write("authentication.yaml", configuration("anonymous: { enabled: false }"));
    server = await startTestServer({
      tokenFile: file("tokens.csv"),
      settings: {
        "tls-cert-file": file("tls.crt"),
        "tls-private-key-file": file("tls.key"),
        "client-ca-file": file("clients.crt"),
        "requestheader-client-ca-file": file("proxies.crt"),
        "requestheader-allowed-names": ["proxy"],
        "authentication-config": file("authentication.yaml"),
      },
      log: pino({ level: "error" }, { write: (line) => void errors.push(JSON.parse(line) as object) }),
    });
  });
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const unusableFiles = async (): Promise<string[]> =>
    [...(await server.metricsText()).matchAll(/^signet_unusable_files\{setting="([^"]+)"\} 1$/gm)].map(
      ([, setting = ""]) => setting,
    );

  /** Changes a file, lets the server look, and checks that it reports a file that cannot be used. */
  const change = async (name: string, text: string, refusedSetting?: string): Promise<void> => {
    errors.splice(0);
    write(name, text);
    server.readFilesAgain();
    const unusable = refusedSetting === undefined ? [] : [refusedSetting];
    assert.deepEqual(await unusableFiles(), unusable);
    assert.deepEqual(
      errors.map(({ setting }) => setting),
      unusable,
      JSON.stringify(errors),
    );
  };

  it("provide new connections with the new serving certificate once certificate and key match", async () => {
    assert.equal(await servedBy(), "first");
    const second = certificateOf(other, "second");
    await change("tls.crt", second.certificate, "tls-cert-file");
    assert.equal(await servedBy(), "first");
    await change("tls.key", second.key);
    assert.equal(await servedBy(), "second");
  });

  it("change which CAs of client certificates are trusted", async () => {
    const [ann, bob] = [certificateOf(one, "ann"), certificateOf(other, "bob")];
    const names = async (): Promise<unknown> => [
      await nameOf({ certificate: ann }),
      await nameOf({ certificate: bob }),
    ];
    assert.deepEqual(await names(), ["ann", 401]);
    await change("clients.crt", `${one.pem}${other.pem}`);
    assert.deepEqual(await names(), ["ann", "bob"]);
    await change("clients.crt", "", "client-ca-file");
    assert.deepEqual(await names(), ["ann", "bob"]);
    await change("clients.crt", other.pem);
    assert.deepEqual(await names(), [401, "bob"]);
  });

  it("change which front proxies are trusted", async () => {
    const headers = { "x-remote-user": "carol" };
    const byOne: Caller = { certificate: certificateOf(one, "proxy"), headers };
    const byOther: Caller = { certificate: certificateOf(other, "proxy"), headers };
    assert.equal(await nameOf(byOne), "carol");
    await change("proxies.crt", other.pem);
    assert.notEqual(await nameOf(byOne), "carol");
    assert.equal(await nameOf(byOther), "carol");
    await change("proxies.crt", "no PEM", "requestheader-client-ca-file");
    assert.equal(await nameOf(byOther), "carol");
    await change("proxies.crt", other.pem);
  });

  it("change which static tokens are accepted", async () => {
    const users = async (): Promise<unknown> => [await nameOf({ token: "early" }), await nameOf({ token: "late" })];
    assert.deepEqual(await users(), ["ann", 401]);
    await change("tokens.csv", "late,bob,bob\n");
    assert.deepEqual(await users(), [401, "bob"]);
    await change("tokens.csv", "late,bob\n", "token-auth-file");
    assert.deepEqual(await users(), [401, "bob"]);
    assert.ok(!JSON.stringify(errors).includes("late"), "a token is in the log");
    await change("tokens.csv", "late,bob,bob\n");
  });

  it("change who may be anonymous", async () => {
    assert.equal(await nameOf({}), 401);
    await change("authentication.yaml", configuration("anonymous: { enabled: true }"));
    assert.equal(await nameOf({}), 403, "anonymous, and without the permission");
    await change("authentication.yaml", configuration("anonymous: { enabled: perhaps }"), "authentication-config");
    assert.equal(await nameOf({}), 403);
  });
});

const configuration = (fields: string): string =>
  `apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n${fields}\n`;
