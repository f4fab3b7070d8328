import assert from "node:assert/strict";
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import pino from "pino";
import { generateTokenSigningKeyPem } from "../../src/features/accounts/tokens/token-key.ts";
import { UsageError } from "../../src/machinery/command-line/settings/flag.ts";
import { ApiClient } from "../../src/machinery/client/api-client.ts";
import { httpsTransport } from "../../src/machinery/client/https/https-transport.ts";
import { readKubeconfig } from "../../src/machinery/client/kubeconfig/kubeconfig.ts";
import { parseServerConfig } from "../../src/server/settings/server-config.ts";
import { startServer } from "../../src/server/start-server.ts";
import type { RunningServer, StartOptions } from "../../src/server/start-server.ts";
import { userOf } from "../user-of.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const folder = temporaryFolder();
const dataDirectory = join(folder, "data");

const start = async (
  settings: Record<string, unknown> = {},
  options: Partial<StartOptions> = {},
): Promise<RunningServer> =>
  startServer(
    parseServerConfig({ commandLine: { "data-dir": dataDirectory, "secure-port": "0", ...settings }, file: {} }),
    { log: pino({ level: "silent" }), ...options },
  );

const clientOf = ({ kubeconfigFile }: RunningServer): ApiClient =>
  new ApiClient(httpsTransport(readKubeconfig({ file: kubeconfigFile }).transport));

describe("a server on an empty folder", () => {
  test("creates its files, keeps secrets private, and writes the administrator's kubeconfig", async () => {
    const server = await start();
    try {
      const secret = [
        ...["ca.key", "apiserver-client-ca.key", "nodeagent-client-ca.key", "nodeagent-serving-ca.key"],
        ...["service-account.key", "serving.pem", "admin.kubeconfig", "admin.pem"],
      ];
      for (const file of secret) assert.equal(statSync(join(dataDirectory, file)).mode & 0o777, 0o600, file);
      assert.equal(statSync(dataDirectory).mode & 0o777, 0o700);
      const client = clientOf(server);
      const { username, groups } = await userOf(client);
      assert.equal(username, "admin");
      assert.ok(groups.includes("system:masters"));
      client.close();
    } finally {
      await server.stop();
    }
  });

  test("warns of a key that a setting names and every user can read, and takes one that a group can read", async () => {
    const key = join(folder, "tokens.key");
    writeFileSync(key, generateTokenSigningKeyPem("ES256"), { mode: 0o640 });
    const warned = async (): Promise<string[]> => {
      const lines: string[] = [];
      const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
      const server = await start(
        { "data-dir": join(folder, "named"), "service-account-signing-key-file": key },
        { log },
      );
      await server.stop();
      return lines;
    };
    assert.deepEqual(await warned(), []);
    chmodSync(key, 0o644);
    const [line, ...others] = await warned();
    assert.match(line ?? "", /others can read .+tokens\.key: chmod o-r .+tokens\.key; if others may have read it/);
    assert.deepEqual(others, []);
  });

  test("has the accounts of its namespaces before any loop runs, for the token that a client asks for at once", async () => {
    const server = await start({ "data-dir": join(folder, "accounts") }, { loops: "when told" });
    try {
      for (const namespace of ["default", "platform-system", "platform-public", "platform-node-lease"]) {
        const path = `/api/v1/namespaces/${namespace}/serviceaccounts/default/token`;
        const { status } = await server.client.request<{ status: { token: string } }>(path, {
          method: "POST",
          body: { apiVersion: "authentication.platform.io/v1", kind: "TokenRequest", spec: { audiences: [] } },
        });
        assert.match(status.token, /^ey/, namespace);
      }
    } finally {
      await server.stop();
    }
  });

  test("has no account of its namespaces where the loop that makes them is off", async () => {
    const settings = { "data-dir": join(folder, "no-accounts"), controllers: "*,-serviceaccount" };
    const server = await start(settings, { loops: "when told" });
    try {
      const { items } = await server.client.request<{ items: unknown[] }>("/api/v1/serviceaccounts");
      assert.deepEqual(items, []);
    } finally {
      await server.stop();
    }
  });

  test("keeps objects, CA, keys and tokens when it is started again", async () => {
    const first = await start();
    const caCertificate = readFileSync(join(dataDirectory, "ca.crt"), "utf8");
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "kept" } };
    await first.client.request("/api/v1/namespaces", { method: "POST", body: namespace });
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "robot" } };
    await first.client.request("/api/v1/namespaces/kept/serviceaccounts", { method: "POST", body: account });
    const path = "/api/v1/namespaces/kept/serviceaccounts/robot/token";
    const { status } = await first.client.request<{ status: { token: string } }>(path, {
      method: "POST",
      body: { apiVersion: "authentication.platform.io/v1", kind: "TokenRequest", spec: { audiences: [] } },
    });
    await first.stop();

    const second = await start();
    try {
      assert.equal(readFileSync(join(dataDirectory, "ca.crt"), "utf8"), caCertificate);
      const client = new ApiClient(
        httpsTransport({
          server: second.url,
          caCertificates: caCertificate,
          bearerToken: () => status.token,
        }),
      );
      assert.equal((await userOf(client)).username, "system:serviceaccount:kept:robot");
      client.close();
    } finally {
      await second.stop();
    }
  });

  test("refuses a folder of the other naming profile", async () => {
    await assert.rejects(start({ profile: "kubernetes" }), /platform/);
  });
});

describe("wrong settings", () => {
  const broken = join(folder, "broken.pem");
  writeFileSync(broken, "no certificate here");
  const refusals: readonly (readonly [string, Record<string, unknown>, RegExp])[] = [
    ["a CA file that is not there", { "client-ca-file": join(folder, "absent") }, /^--client-ca-file: cannot read /],
    [
      "a CA file without a certificate",
      { "client-ca-file": broken },
      /^--client-ca-file: .* holds no certificate; name a PEM file of /,
    ],
    [
      "a serving certificate without its key",
      { "tls-cert-file": broken },
      /^--tls-cert-file and --tls-private-key-file go together: give both, or neither$/,
    ],
    [
      "a signer's CA without its key",
      { "cluster-signing-nodeagent-serving-cert-file": broken },
      /^--cluster-signing-nodeagent-serving-cert-file and --cluster-signing-nodeagent-serving-key-file go together: /,
    ],
    [
      "etcd's members of two schemes",
      { "etcd-servers": "http://a:1,https://b:1" },
      /^--etcd-servers: use the same scheme/,
    ],
    ["an authorizer that does not exist", { "authorization-mode": ["Magic"] }, /^--authorization-mode: "Magic" is not/],
    ["an invalid signing key", { "service-account-signing-key-file": broken }, /^--service-account-signing-key-file: /],
  ];
  test("etcd on another machine is refused without TLS, unless that is accepted", () => {
    const settingsOf = (server: string, more = {}) =>
      parseServerConfig({ commandLine: { "etcd-servers": server, ...more }, file: {} });
    for (const server of ["http://etcd.example.org:2379", "http://10.0.0.1:2379", "http://127.0.0.1.example.org:1"]) {
      assert.throws(
        () => settingsOf(server),
        /^UsageError: --etcd-servers: .* is another machine.*--etcd-allow-plaintext$/,
      );
      settingsOf(server, { "etcd-allow-plaintext": true });
    }
    for (const server of ["http://127.1:2379", "http://[::1]:2379", "http://localhost:2379", "https://etcd:2379"]) {
      settingsOf(server);
    }
  });
  for (const [what, settings, message] of refusals) {
    test(`${what} ends the start with one line that names the flag`, async () => {
      await assert.rejects(start(settings), (error) => {
        assert.ok(error instanceof UsageError, String(error));
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /\n/);
        return true;
      });
    });
  }
});
