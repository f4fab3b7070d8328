import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { platformNames as names } from "../../../../src/machinery/api/names.ts";
import {
  certificateRecord,
  signedRecordName,
} from "../../../../src/features/certificates/inventory/certificate-record.ts";
import { certificateRecordCleaner } from "../../../../src/features/certificates/inventory/certificate-inventory.ts";
import { runControllers } from "../../../../src/machinery/loops/elected-controllers.ts";
import { atOnce, loopContext } from "../../../run-loop.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";
import { CertificateScene, newAuthority, sceneOf, until } from "../certificate-loop-scene.ts";
import { fingerprintOf } from "../../../../src/pki/certificates/certificate.ts";
import { parseCertificatesPem } from "../../../../src/pki/certificates/certificates-pem.ts";
import { signerNames } from "../../../../src/features/certificates/signer-names.ts";

const signerName = "example.com/custom";
const subjectAltNames = {
  dnsNames: ["a.test"],
  ipAddresses: ["10.0.0.1"],
  emailAddresses: ["a@b.test"],
  uris: ["spiffe://a/b"],
};

describe("the inventory of certificates", () => {
  let server: TestServer;
  let scene: CertificateScene;
  before(async () => {
    server = await startTestServer();
    scene = new CertificateScene(server.client);
  });
  const records = () => server.client.resource(scene.references.issuedCertificates);

  async function signAsCustomSigner(name: string): Promise<void> {
    if ((await scene.requests.find(name)) === undefined)
      await scene.request({ name, signerName, commonName: name, names: subjectAltNames });
    await scene.approve(name);
    await scene.signElsewhere(name, newAuthority("custom"));
  }

  it("records the certificates of custom signers, and keeps the records when the requests are deleted", async () => {
    await signAsCustomSigner("custom");
    const record = await scene.recordOf("custom");
    const { dnsNames, ipAddresses, emailAddresses, uris, ...spec } = record.spec;
    assert.deepEqual({ dnsNames, ipAddresses, emailAddresses, uris }, subjectAltNames);
    assert.deepEqual([spec.signerName, spec.issuer, spec.subject], [signerName, "CN=custom", "CN=custom"]);
    await scene.requests.delete("custom");
    assert.equal((await records().get(record.metadata.name ?? "")).metadata.uid, record.metadata.uid);
  });

  it("has the certificate of a request whose own record is of another one, too", async () => {
    const name = "replaced";
    await scene.request({ name, signerName, commonName: name });
    const { metadata } = await scene.requests.get(name);
    const { spec } = await scene.recordOf("custom");
    await records().create({
      apiVersion: "",
      kind: "",
      metadata: { name: `request-${metadata.uid}` },
      spec: { ...spec, requestName: "of its own record" },
    });
    await signAsCustomSigner(name);
    const record = await scene.recordOf(name);
    assert.notEqual(record.spec.fingerprint, spec.fingerprint);
  });

  it("has a certificate once that its signer has recorded, or that is in several requests", async () => {
    const authority = newAuthority("custom");
    const requests = ["recorded", "shared-1", "shared-2"];
    for (const name of requests) {
      await scene.request({ name, signerName, commonName: "once" });
      await scene.approve(name);
    }
    const own = await scene.signedElsewhere("recorded", authority);
    const shared = await scene.signedElsewhere("shared-1", authority);
    const [certificate = assert.fail()] = parseCertificatesPem(own);
    const request = await scene.requests.get("recorded");
    const recordName = signedRecordName(request.metadata.uid ?? "");
    await records().create({
      apiVersion: "",
      kind: "",
      ...certificateRecord({ recordName, certificate, request }),
    });
    for (const name of requests) await scene.writeCertificate(name, name === "recorded" ? own : shared);
    // The loop is done with them once it has recorded what came after them.
    await signAsCustomSigner("after-them");
    await scene.recordOf("after-them");
    const namesOf = async (pem: string): Promise<readonly string[]> => {
      const fingerprint = fingerprintOf(parseCertificatesPem(pem)[0] ?? assert.fail());
      const { items } = await records().list();
      return items.filter(({ spec }) => spec.fingerprint === fingerprint).map(({ metadata }) => metadata.name ?? "");
    };
    assert.deepEqual(await namesOf(own), [recordName]);
    assert.equal((await namesOf(shared)).length, 1);
  });

  it("can be selected by signer and user, and shows when a certificate ends", async () => {
    await scene.obtain({ name: "own", signerName: signerNames.apiserverClient(names), commonName: "own" });
    const own = await records().list({ fieldSelector: `spec.signerName=${signerNames.apiserverClient(names)}` });
    // The administrator's certificate is of this CA too, and of no request.
    assert.deepEqual(new Set(own.items.map(({ spec }) => spec.requestName)), new Set([undefined, "own"]));
    const nobodys = await records().list({ fieldSelector: "spec.username=nobody" });
    assert.deepEqual(nobodys.items, []);
  });

  it("cannot be changed, and can be read only by auditors", async () => {
    await signAsCustomSigner("fixed");
    const record = await scene.recordOf("fixed");
    await assert.rejects(records().update({ ...record, spec: { ...record.spec, username: "mallory" } }), {
      code: 422,
      message: /spec: Forbidden: a record of a certificate cannot be changed/,
    });
    const stranger = sceneOf(server, { name: "mallory", groups: [] }).client.resource(
      scene.references.issuedCertificates,
    );
    await assert.rejects(stranger.list(), { code: 403 });
    const rbac = names.group("rbac.authorization");
    await server.client.request(`/apis/${rbac}/v1/clusterrolebindings`, {
      method: "POST",
      body: {
        apiVersion: `${rbac}/v1`,
        kind: "ClusterRoleBinding",
        metadata: { name: "audit" },
        roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "system:certificate-auditor" },
        subjects: [{ apiGroup: rbac, kind: "User", name: "auditor" }],
      },
    });
    const auditor = sceneOf(server, { name: "auditor", groups: [] }).client.resource(
      scene.references.issuedCertificates,
    );
    assert.ok((await auditor.list()).items.length > 0);
    await assert.rejects(auditor.delete(record.metadata.name ?? ""), { code: 403 });
  });

  it("forgets a certificate some time after its end", async () => {
    await signAsCustomSigner("ended");
    const record = await scene.recordOf("ended");
    const retentionMilliseconds = 86_400_000;
    let now = Date.parse(record.spec.notAfter) + retentionMilliseconds;
    const context = loopContext({ client: server.client, clock: { now: () => now }, schedule: atOnce });
    const running = runControllers([certificateRecordCleaner({ retentionMilliseconds })], context);
    await running.synced;
    assert.ok(await records().find(record.metadata.name ?? ""), "its time has not come");
    const removal = until(
      server.client,
      scene.references.issuedCertificates,
      ({ metadata }, type) => type === "DELETED" && metadata.uid === record.metadata.uid,
      record.metadata.resourceVersion,
    );
    now += 1000;
    await removal;
    await running.stop();
  });
});
