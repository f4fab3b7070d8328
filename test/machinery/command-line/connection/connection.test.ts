import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, it } from "node:test";
import { connect } from "../../../../src/machinery/command-line/connection/connection.ts";
import { FollowedFiles } from "../../../../src/machinery/files/followed/followed-files.ts";
import { dataDirectoryAuthority, issuePair } from "../../../features/certificates/data-directory-authority.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";
import { userOf } from "../../../user-of.ts";

const folder = mkdtempSync(join(tmpdir(), "signet-connection-"));
const file = (name: string): string => join(folder, name);
const authority = dataDirectoryAuthority(folder, { baseName: "clients", commonName: "clients" });
let server: TestServer;

before(async () => {
  writeFileSync(file("clients.crt"), authority.pem);
  server = await startTestServer({ settings: { "client-ca-file": file("clients.crt"), controllers: false } });
});
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

const kubeconfig = (user: object, cluster: object = {}): string =>
  JSON.stringify({
    "current-context": "test",
    contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    clusters: [
      {
        name: "test",
        cluster: {
          server: server.url,
          "certificate-authority-data": Buffer.from(server.caCertificates).toString("base64"),
          ...cluster,
        },
      },
    ],
    users: [{ name: "test", user }],
  });

function writeCertificate(commonName: string): void {
  const { certificate, key } = issuePair(authority, { commonName });
  writeFileSync(file("user.crt"), certificate);
  writeFileSync(file("user.key"), key, { mode: 0o600 });
}

it("a followed kubeconfig gives the next request its new certificate or token; one that cannot be used changes nothing", async () => {
  const errors: unknown[] = [];
  using followed = new FollowedFiles({ log: { info() {}, error: (fields) => void errors.push(fields["setting"]) } });
  writeCertificate("ann");
  writeFileSync(file("kubeconfig"), kubeconfig({ "client-certificate": "user.crt", "client-key": "user.key" }));
  const { client } = await connect({ kubeconfig: file("kubeconfig") }, { followed });
  try {
    assert.equal((await userOf(client)).username, "ann");
    writeCertificate("bob");
    followed.refresh({ isForced: false });
    assert.equal((await userOf(client)).username, "bob");
    const ofAdmin = { token: server.adminToken };
    const unusables = [
      "{",
      kubeconfig({ ...ofAdmin, as: "ann" }),
      kubeconfig(ofAdmin, { "tls-server-name": "other" }),
      kubeconfig(ofAdmin, { "certificate-authority-data": undefined, "insecure-skip-tls-verify": true }),
    ];
    for (const unusable of unusables) {
      writeFileSync(file("kubeconfig"), unusable);
      followed.refresh({ isForced: false });
      assert.equal((await userOf(client)).username, "bob");
      assert.deepEqual(errors.splice(0), ["kubeconfig"]);
    }
    writeFileSync(file("kubeconfig"), kubeconfig(ofAdmin));
    followed.refresh({ isForced: false });
    assert.equal((await userOf(client)).username, "admin");
  } finally {
    client.close();
  }
});
