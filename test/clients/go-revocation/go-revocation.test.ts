import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { configMapResource } from "../../../src/features/core/index.ts";
import { authorityId } from "../../../src/features/certificates/status/addresses.ts";
import { storedListName } from "../../../src/features/certificates/status/stored-list.ts";
import { revocationResource } from "../../../src/features/revocation/resources.ts";
import { platformNames as names } from "../../../src/machinery/api/names.ts";
import { serialNumberHex } from "../../../src/pki/certificate.ts";
import { parseRevocationList } from "../../../src/pki/certificate-revocation-list.ts";
import { formatDistinguishedName } from "../../../src/pki/distinguished-name.ts";
import { parseCertificatesPem } from "../../../src/pki/trust-anchors.ts";
import { CertificateFolder, CertificateScene, until } from "../../features/certificates/certificate-loop-scene.ts";
import { startTestServer } from "../../test-server.ts";

/** Builds from what is on this machine; tests ask no network. */
const environment = { ...process.env, GOPROXY: "off", GOFLAGS: "-mod=readonly", GOTOOLCHAIN: "local" };
const run = promisify(execFile);

describe("Go", { skip: reasonToSkip() }, () => {
  it("reads the lists with crypto/x509, and the answers with golang.org/x/crypto/ocsp", async () => {
    const folder = new CertificateFolder();
    const server = await startTestServer({
      settings: { "revocation-url": "http://pki.example.com", "revocation-http-address": "127.0.0.1:0" },
    });
    try {
      const program = folder.file("program");
      await run("go", ["build", "-o", program, "."], { cwd: import.meta.dirname, env: environment });
      const scene = new CertificateScene(server.client);
      const signerName = `${names.domain}/apiserver-client`;
      const [leaf] = await scene.obtain({ name: "laptop", signerName, commonName: "laptop" });
      const bundle = await until(
        server.client,
        scene.references.clusterTrustBundles,
        ({ spec }) => spec.signerName === signerName,
      );
      const [ca] = parseCertificatesPem(bundle.spec.trustBundle);
      assert.ok(leaf && ca);
      const url = server.revocationHttpUrl ?? "";
      const list = async (): Promise<Buffer> => {
        const answer = await fetch(`${url}/pki/crl/${authorityId(ca)}.crl`);
        return Buffer.from(await answer.arrayBuffer());
      };
      const said = async (): Promise<string> => {
        writeFileSync(folder.file("list.der"), await list());
        const args = [folder.write("ca.pem", ca), folder.write("leaf.pem", leaf), folder.file("list.der")];
        return (await run(program, [...args, `${url}/pki/ocsp`])).stdout;
      };
      const serialNumber = serialNumberHex(leaf);
      assert.match(
        await said(),
        /^not on the list; OCSP good, .*names \[http:\S+\.crl\] \[http:\S+ocsp\] \[http:\S+\.crt\]/,
      );
      const certificate = { issuer: formatDistinguishedName(leaf.issuer), serialNumber };
      await server.client.resource(revocationResource(names)).create({
        ...{ kind: "", apiVersion: "", metadata: { name: "laptop" } },
        spec: { certificate, reason: "keyCompromise" },
      });
      const configMaps = server.client.resource(configMapResource(names));
      for await (const { object } of configMaps.watch({}, AbortSignal.timeout(20_000))) {
        if (object.metadata.name !== storedListName(authorityId(ca), undefined)) continue;
        if (
          parseRevocationList(await list())
            .entries.toString("hex")
            .includes(serialNumber)
        )
          break;
      }
      assert.match(await said(), /^on the list, reason 1; OCSP revoked, reason 1;/);
    } finally {
      await server.stop();
      folder.remove();
    }
  });
});

function reasonToSkip(): string | false {
  if (spawnSync("go", ["version"]).status !== 0) return "Go is not installed";
  const listed = spawnSync("go", ["list", "-deps", "."], { cwd: import.meta.dirname, env: environment });
  return listed.status === 0 ? false : "golang.org/x/crypto is not on this machine";
}
