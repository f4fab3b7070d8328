import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { startTestServerProcess } from "../test-server-process.ts";
import type { ServerProcess } from "../../bench/processes/server-process.ts";
import { signingRequest } from "../../src/agent/certificates/request-certificate.ts";
import { wantedClientCertificate } from "../../src/agent/certificates/wanted-certificate.ts";
import { bootstrapGroup, permitNodeBootstrap } from "../../src/features/nodes/bootstrap/bootstrap-permissions.ts";
import { newBootstrapToken } from "../../src/features/nodes/bootstrap/bootstrap-token-secret.ts";
import { ApiError } from "../../src/machinery/api/api-error.ts";
import { platformNames as names } from "../../src/machinery/api/names.ts";
import { ApiClient } from "../../src/machinery/client/api-client.ts";
import { httpsTransport } from "../../src/machinery/client/https/https-transport.ts";
import { generatePrivateKey } from "../../src/pki/keys/keys.ts";
import { skipsEtcd, startEtcd } from "../machinery/storage/etcd/etcd-process.ts";
import type { EtcdCluster } from "../machinery/storage/etcd/etcd-process.ts";
import { clientOf } from "../reliability/client-of.ts";
import { resourceReferences } from "../resource-references.ts";
import { Replica } from "./replica.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const { secrets, certificateSigningRequests } = resourceReferences(names);
const racers = 50;
const rounds = 3;

type Address = Pick<ServerProcess, "url" | "caCertificates">;

/** Every racer has a key and a connection of its own, and asks for a machine of its own, at one of the addresses. */
async function race(admin: ApiClient, addresses: readonly Address[]): Promise<void> {
  const { token, secret } = newBootstrapToken(names, {
    groups: [bootstrapGroup],
    expiresAt: undefined,
    description: "one machine",
    isForOneUse: true,
  });
  const { name = "" } = (await admin.resource(secrets, names.namespaces.system).create(secret)).metadata;
  const clients = Array.from({ length: racers }, (_, index) => {
    const { url = "", caCertificates = "" } = addresses[index % addresses.length] ?? {};
    return new ApiClient(
      httpsTransport({ server: url, caCertificates: caCertificates.toString(), bearerToken: () => token }),
    );
  });
  const asked = clients.map(async (client, index) => {
    const request = signingRequest({
      wanted: wantedClientCertificate(names, `racer-${index}`),
      requestPrefix: `${name.slice(-6)}-`,
      privateKey: generatePrivateKey("ECDSA P-256"),
      lifetimeSeconds: undefined,
    });
    for (;;) {
      try {
        return await client.resource(certificateSigningRequests).create(request);
      } catch (error) {
        // On a busy machine etcd may not answer in time.
        if (!(error instanceof ApiError && error.message.startsWith("the store can't be read now"))) throw error;
      }
    }
  });
  const results = await Promise.allSettled(asked);
  for (const client of clients) client.close();
  const lost = results.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
  const others = lost.filter((error) => !(error instanceof ApiError && [401, 403].includes(error.code)));
  assert.deepEqual(others, []);
  assert.equal(results.length - lost.length, 1, "exactly one machine has used the token");
}

describe("a bootstrap token for one use is spent exactly once by fifty machines", () => {
  const folder = temporaryFolder();

  it("on one file with two workers", async (context) => {
    mkdirSync(join(folder, "lmdb"));
    const server = await startTestServerProcess(join(folder, "lmdb", "data"), { flags: ["--workers=2"] });
    context.after(() => server.stop());
    const admin = clientOf(server);
    context.after(() => admin.close());
    await permitNodeBootstrap({ client: admin, names });
    for (let round = 0; round < rounds; round++) await race(admin, [server]);
  });

  describe("on etcd with two replicas", { skip: skipsEtcd }, () => {
    let etcd: EtcdCluster;
    const replicas: Replica[] = [];
    before(async () => {
      etcd = await startEtcd();
      const first = await Replica.start({ name: "first", folder, etcd });
      replicas.push(first, await Replica.start({ name: "second", folder, etcd, sharesWith: first }));
    });
    after(async () => {
      for (const replica of replicas) await replica.stop();
      await etcd.stop();
    });

    it("at both of them", async () => {
      const [first = assert.fail()] = replicas;
      await permitNodeBootstrap({ client: first.client, names });
      const addresses = replicas.map(({ address }) => address);
      for (let round = 0; round < rounds; round++) await race(first.client, addresses);
    });
  });
});
