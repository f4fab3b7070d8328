import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import pino from "pino";
import { systemClock } from "../../src/machinery/api/clock.ts";
import { namesFor } from "../../src/machinery/api/names.ts";
import type { ApiObject } from "../../src/machinery/api/object-meta.ts";
import { parseServerConfig } from "../../src/server/settings/server-config.ts";
import { ApiClient } from "../../src/machinery/client/api-client.ts";
import type { ResourceType } from "../../src/machinery/api/resource-type.ts";
import { httpsTransport } from "../../src/machinery/client/https/https-transport.ts";
import { eventually } from "../end-to-end/eventually.ts";
import { resourceReferences } from "../resource-references.ts";
import { startServer } from "../../src/server/start-server.ts";
import type { RunningServer } from "../../src/server/start-server.ts";
import { waitForObject } from "../wait-for-object.ts";
import { SealingKey } from "../../src/machinery/keys/sealing-key.ts";
import { prepareAuthority, switchAuthority } from "../../src/features/certificates/authorities/rotate-authority.ts";
import { rotateTokenKey } from "../../src/features/accounts/keys/rotate-token-key.ts";
import { sharedFiles } from "./replica.ts";
import { skipsEtcd, startEtcd } from "../machinery/storage/etcd/etcd-process.ts";
import type { EtcdCluster } from "../machinery/storage/etcd/etcd-process.ts";
import { userOf } from "../user-of.ts";

const { serviceAccounts, namespaces, leases } = resourceReferences(namesFor("platform"));
const clusterRoleBindings: ResourceType = {
  group: "rbac.authorization.platform.io",
  version: "v1",
  plural: "clusterrolebindings",
  kind: "ClusterRoleBinding",
  scope: "Cluster",
};

interface ApiList {
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items: readonly ApiObject[];
}

interface TokenRequest extends ApiObject {
  readonly status?: { readonly token: string };
}

const holderOf = (lease: (ApiObject & { readonly spec?: { readonly holderIdentity?: string } }) | undefined): string =>
  lease?.spec?.holderIdentity ?? "";

describe("two replicas on one etcd", { skip: skipsEtcd }, () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-replicas-"));
  let etcd: EtcdCluster;
  const started: RunningServer[] = [];

  /** A data directory with the files that replicas share, copied from another one. */
  const newDataDirectory = (name: string, filesOf?: string): string => {
    const dataDirectory = join(folder, name);
    mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
    for (const file of filesOf === undefined ? [] : sharedFiles) {
      copyFileSync(join(folder, filesOf ?? "", file), join(dataDirectory, file));
    }
    return dataDirectory;
  };
  const start = async (name: string, filesOf?: string): Promise<RunningServer> => {
    const dataDirectory = newDataDirectory(name, filesOf);
    const settings = {
      "data-dir": dataDirectory,
      "secure-port": "0",
      "etcd-servers": etcd.urls.join(","),
      "etcd-cafile": etcd.tlsFlags[1],
      "etcd-certfile": etcd.tlsFlags[3],
      "etcd-keyfile": etcd.tlsFlags[5],
    };
    const server = await startServer(parseServerConfig({ commandLine: settings, file: {} }), {
      log: pino({ level: "silent" }),
    });
    started.push(server);
    return server;
  };
  let one: RunningServer;
  let other: RunningServer;
  before(async () => {
    etcd = await startEtcd({ isTls: true });
    one = await start("one");
    other = await start("other", "one");
  });
  after(async () => {
    await Promise.all(started.map((server) => server.stop()));
    await etcd.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const withToken = (server: RunningServer, token: string): ApiClient =>
    new ApiClient(
      httpsTransport({ server: server.url, caCertificates: server.caCertificates, bearerToken: () => token }),
    );
  const createNamespace = (name: string): Promise<ApiObject> =>
    one.client
      .resource(namespaces)
      .create({ apiVersion: "v1", kind: "Namespace", metadata: { name }, spec: {}, status: {} });
  const account = (name: string): ApiObject => ({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name } });
  const createToken = async (server: RunningServer, namespace: string, name: string): Promise<string> => {
    const request = await server.client.resource(serviceAccounts, namespace).createSubresource<TokenRequest>(name, {
      subresource: "token",
      object: {
        apiVersion: "authentication.platform.io/v1",
        kind: "TokenRequest",
        metadata: {},
      },
    });
    return request.status?.token ?? "";
  };
  const whoAmI = async (client: ApiClient): Promise<string> => (await userOf(client)).username;

  it("show each other's writes and deletions at once: objects, tokens and permissions", async () => {
    for (let round = 0; round < 20; round++) {
      const namespace = `round-${round}`;
      await createNamespace(namespace);
      await other.client.resource(serviceAccounts, namespace).create(account("worker"));
      const client = withToken(other, await createToken(one, namespace, "worker"));
      try {
        const username = `system:serviceaccount:${namespace}:worker`;
        assert.equal(await whoAmI(client), username);
        const accounts = client.resource(serviceAccounts, namespace);
        await assert.rejects(accounts.list(), { code: 403 });
        const binding: ApiObject & Record<string, unknown> = {
          apiVersion: "rbac.authorization.platform.io/v1",
          kind: "ClusterRoleBinding",
          metadata: { name: namespace },
          roleRef: { apiGroup: "rbac.authorization.platform.io", kind: "ClusterRole", name: "view" },
          subjects: [{ kind: "ServiceAccount", name: "worker", namespace }],
        };
        await one.client.resource(clusterRoleBindings).create(binding);
        assert.ok((await accounts.list()).items.some(({ metadata }) => metadata.name === "worker"));
        await one.client.resource(clusterRoleBindings).delete(namespace);
        await assert.rejects(accounts.list(), { code: 403 });
        await one.client.resource(serviceAccounts, namespace).delete("worker");
        await assert.rejects(whoAmI(client), { code: 401 });
      } finally {
        client.close();
      }
    }
  });

  it("continue each other's lists and watches", async () => {
    await createNamespace("pages");
    const accounts = ["a", "b", "c", "d"];
    for (const name of accounts) await one.client.resource(serviceAccounts, "pages").create(account(name));
    const path = "/api/v1/namespaces/pages/serviceaccounts";
    const first = await one.client.request<ApiList>(path, { query: "limit=2" });
    await one.client.resource(serviceAccounts, "pages").delete("d");
    const query = new URLSearchParams({ limit: "10", continue: first.metadata.continue ?? "" }).toString();
    const rest = await other.client.request<ApiList>(path, { query });
    assert.deepEqual(
      [...first.items, ...rest.items].map(({ metadata }) => metadata.name).filter((name) => name !== "default"),
      accounts,
    );
    const ending = new AbortController();
    const resourceVersion = first.metadata.resourceVersion ?? "";
    for await (const { type, object } of other.client
      .resource(serviceAccounts, "pages")
      .watch({ resourceVersion }, ending.signal)) {
      if (type !== "DELETED") continue;
      assert.equal(object.metadata.name, "d");
      break;
    }
    ending.abort();
  });

  it("sign with a new key after one command, and verify each other's tokens, also in one that was away", async () => {
    await createNamespace("rotated");
    await other.client.resource(serviceAccounts, "rotated").create(account("worker"));
    const oldToken = await createToken(one, "rotated", "worker");
    const keys = { store: one.store, sealingKey: SealingKey.open(join(folder, "one")) };
    // The command publishes a key for ten seconds at least; without them, every request must look for it first.
    await rotateTokenKey(keys, { algorithm: "EdDSA", publishMilliseconds: 0, clock: systemClock });
    const away = await start("away", "one");
    const algorithmOf = (token: string): unknown =>
      JSON.parse(Buffer.from(token.split(".", 1)[0] ?? "", "base64url").toString());
    for (const [signs, verifies] of [
      [one, other],
      [other, away],
      [away, one],
    ] as const) {
      for (const token of [oldToken, await createToken(signs, "rotated", "worker")]) {
        const client = withToken(verifies, token);
        assert.equal(await whoAmI(client), "system:serviceaccount:rotated:worker");
        client.close();
        if (token !== oldToken) assert.match(JSON.stringify(algorithmOf(token)), /"alg":"EdDSA"/);
      }
    }
    await away.stop();
  });

  it("refuse a third one that has another CA, or does not know their signing key", async () => {
    await assert.rejects(start("stranger"), /sealing\.key is not there.* a new replica needs the CAs of the others/);
    copyFileSync(join(folder, "one", "sealing.key"), join(folder, "stranger", "sealing.key"));
    await assert.rejects(start("stranger"), /CA differs from that of the other replicas/);
    const dataDirectory = join(folder, "half");
    mkdirSync(dataDirectory, { mode: 0o700 });
    const copy = (file: string): void => copyFileSync(join(folder, "one", file), join(dataDirectory, file));
    SealingKey.open(dataDirectory); // makes another one
    for (const file of ["ca.crt", "ca.key"]) copy(file);
    // A directory with only the server's CA belongs to an earlier version, where all signers use that CA.
    await assert.rejects(
      start("half"),
      /signer CAs differ from those of the other replicas.*nodeagent-serving-ca\.crt/,
    );
    for (const file of sharedFiles.filter((name) => name.includes("-ca."))) copy(file);
    await assert.rejects(start("half"), /cannot open the keys .* in the store: copy the same sealing.key/);
    copy("sealing.key");
    await assert.rejects(start("half"), /cannot verify the tokens of the other replicas.*service-account\.key/);
    copy("service-account.key");
    await (await start("half")).stop();
  });

  it("have the new CA after one command, also one that was away", async () => {
    const dataDirectory = join(folder, "one");
    const keys = {
      store: one.store,
      dataDirectory,
      names: namesFor("platform"),
      sealingKey: SealingKey.open(dataDirectory),
    };
    const name = "nodeagent-client-ca";
    const isForced = true;
    await prepareAuthority(keys, { name, clock: systemClock });
    await switchAuthority(keys, { name, isForced, clock: systemClock });
    const away = await start("back", "other");
    const certificateOf = (replica: string): string => readFileSync(join(folder, replica, `${name}.crt`), "utf8");
    for (const replica of ["other", "back"]) {
      await eventually(`the CA of ${replica}`, () => certificateOf(replica) === certificateOf("one"));
    }
    assert.equal(certificateOf("one").match(/BEGIN/g)?.length, 2);
    await away.stop();
  });

  it("run the controllers in one of them, and in another once that stops", async () => {
    const lease = { namespace: "platform-system", name: "signet-controllers" };
    const isHeld = (object: ApiObject | undefined): boolean => holderOf(object) !== "";
    const before = holderOf(await waitForObject(one.client, leases, lease, isHeld));
    const third = await start("third", "one");
    await third.stop();
    assert.equal(holderOf(await one.client.resource(leases, lease.namespace).get(lease.name)), before);
    // This test cannot see which of the two is the leader. After the stop, the other one is.
    await one.stop();
    await other.client
      .resource(namespaces)
      .create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "later" }, spec: {}, status: {} });
    await waitForObject(
      other.client,
      serviceAccounts,
      { namespace: "later", name: "default" },
      (object) => object !== undefined,
    );
  });

  it("start at the same time on an empty etcd", async () => {
    const fresh = await startEtcd();
    try {
      const servers = await Promise.all(
        ["early", "as-early"].map((name) =>
          startServer(
            parseServerConfig({
              commandLine: {
                "data-dir": newDataDirectory(name, "one"),
                "secure-port": "0",
                "etcd-servers": fresh.urls.join(","),
              },
              file: {},
            }),
            { log: pino({ level: "silent" }) },
          ),
        ),
      );
      await Promise.all(servers.map((server) => server.stop()));
    } finally {
      await fresh.stop();
    }
  });

  it("answer requests that need etcd with unavailable while it is away, and are not ready", async () => {
    const lonely = await startEtcd();
    const server = await startServer(
      parseServerConfig({
        commandLine: {
          "data-dir": newDataDirectory("lonely"),
          "secure-port": "0",
          "etcd-servers": lonely.urls.join(","),
        },
        file: {},
      }),
      { log: pino({ level: "silent" }) },
    );
    try {
      assert.equal(await server.client.text("/readyz"), "ok");
      await lonely.stop();
      await Promise.all([
        assert.rejects(server.client.resource(namespaces).list(), { code: 503 }),
        assert.rejects(server.client.text("/readyz"), { code: 500 }),
      ]);
    } finally {
      await server.stop();
    }
  });
});
